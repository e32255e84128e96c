/** Explains a switch that is on beside a tool that is not open: something else locks the tool. */
import type { ToolCard } from "@/api/types";

type LockableTool = Pick<ToolCard, "enabled" | "state" | "action">;

/** The tool's own switch is on, and the tool is not open. */
export function isLockedDespiteSwitch(tool: LockableTool): boolean {
  return tool.enabled && tool.state !== "open" && tool.state !== "missing";
}

export function lockReason(tool: LockableTool): string {
  return tool.action.kind === "edit_file" ? "Its switch is on; it is locked by the file." : "Its switch is on; that is not what locks it.";
}
