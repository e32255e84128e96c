/** What is said of a switch that is on beside a tool that is not open: it is not what locks the tool. */
import type { ToolCard } from "@/api/types";

type LockableTool = Pick<ToolCard, "switchOn" | "state" | "action">;

/** The gateway says that the tool's own switch is on, and that the tool is not open all the same. */
export function isLockedDespiteSwitch(tool: LockableTool): boolean {
  return tool.switchOn && tool.state !== "open" && tool.state !== "gone";
}

export function lockReason(tool: LockableTool): string {
  return tool.action.kind === "edit_file" ? "Its switch is on; it is locked by the file." : "Its switch is on; that is not what locks it.";
}
