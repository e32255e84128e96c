/** What is said of a switch that is on beside a tool that is not open: it is not what locks the tool. */
import type { Peg } from "@/api/types";

type Held = Pick<Peg, "switchOn" | "state" | "action">;

/** The gateway says that the tool's own switch is on, and that the tool is not open all the same. */
export function isHeldElsewhere(peg: Held): boolean {
  return peg.switchOn && peg.state !== "open" && peg.state !== "gone";
}

export function heldWords(peg: Held): string {
  return peg.action.kind === "edit_file" ? "Its switch is on; it is locked by the file." : "Its switch is on; that is not what locks it.";
}
