/** The five states of a tool. Each has a colour, a shape and a label, so colour is never the only sign. */
import type { ReactElement } from "react";
import type { Health, ToolState } from "@/api/types";

export const TOOL_STATES: readonly ToolState[] = ["open", "locked", "needs_action", "broken", "missing"];

export const STATE_LABELS: Readonly<Record<ToolState, string>> = {
  open: "open",
  locked: "locked",
  needs_action: "wants you",
  broken: "broken",
  missing: "no longer offered",
};

/** The tool state that stands for a server's health. */
export const HEALTH_TO_STATE: Readonly<Record<Health["state"], ToolState>> = {
  up: "open",
  starting: "locked",
  // A call starts it again, so its tools are open.
  asleep: "open",
  needs_sign_in: "needs_action",
  down: "broken",
  off: "locked",
  unknown: "locked",
};

/** The tool state that stands for the gate's verdict on a call: runs → open, waits → needs a person, everything else →
 * locked. */
export function gateVerdictState(verdict: string): ToolState {
  if (verdict === "runs") return "open";
  return verdict === "waits" ? "needs_action" : "locked";
}

const STATE_SHAPES: Readonly<Record<ToolState, ReactElement>> = {
  open: <circle cx="7" cy="7" r="5" fill="currentColor" />,
  locked: <rect x="2.75" y="2.75" width="8.5" height="8.5" rx="2" fill="none" stroke="currentColor" strokeWidth="1.5" />,
  needs_action: (
    <>
      <path d="M7 1.300L13.200 12.300H.8z" fill="currentColor" strokeLinejoin="round" />
      <path d="M7 5.200v3.400M7 10.400v.2" stroke="var(--surface)" strokeWidth="1.500" strokeLinecap="round" />
    </>
  ),
  broken: <path d="M2.800 2.800l8.400 8.400M11.200 2.800l-8.400 8.400" stroke="currentColor" strokeWidth="2.400" strokeLinecap="round" />,
  missing: (
    <>
      <path d="M7 .9L13.100 7 7 13.100.9 7z" fill="none" stroke="currentColor" strokeWidth="1.200" />
      <path d="M4 7.500L7.500 4M5.200 9.300l4.100-4.100M7.200 10.300L10.300 7.200" stroke="currentColor" strokeWidth="1" />
    </>
  ),
};

/** The icon of a state, with a visible label, a label for screen readers only, or none. */
export function StateMark({ state, label = "shown" }: { state: ToolState; label?: "shown" | "screen-reader" | "none" }): ReactElement {
  return (
    <span className={`mark is-${state}`}>
      <svg width="14" height="14" viewBox="0 0 14 14" aria-hidden="true" focusable="false">
        {STATE_SHAPES[state]}
      </svg>
      {label === "shown" && <span>{STATE_LABELS[state]}</span>}
      {label === "screen-reader" && <span className="visually-hidden">{STATE_LABELS[state]}</span>}
    </span>
  );
}

/** A state's icon with a label of its own: "up since 5 min". */
export function StateLabel({ state, children }: { state: ToolState; children: React.ReactNode }): ReactElement {
  return (
    <span className={`mark is-${state}`}>
      <svg width="14" height="14" viewBox="0 0 14 14" aria-hidden="true" focusable="false">
        {STATE_SHAPES[state]}
      </svg>
      <span>{children}</span>
    </span>
  );
}
