/** Optimistic locking: the policy version that a dialog, a draft or a selection is based on. */
import { useMemo, useState } from "react";
import type { Problem } from "./problem";

type GuardState = {
  /** The version that is sent with a write. */
  readonly version: number;
  /** The version at the start: decisions since then are listed. */
  readonly startVersion: number;
  readonly rejected: boolean;
  readonly settled: boolean;
  readonly snapshot: string;
};

export type VersionGuard = {
  /** Inactive, it follows the current version, as an action of one click does. */
  readonly active: boolean;
  readonly version: number;
  readonly startVersion: number;
  /** The snapshot at the start. */
  readonly snapshot: string;
  /** There was a decision since, and the person has not accepted it yet. */
  readonly outdated: boolean;
  /** A write was rejected because of it. The next write uses the current version. */
  readonly rejected: boolean;
  /** Accepts the changes: from here on the current version is the base. */
  readonly accept: () => void;
  readonly reject: (problem: Problem) => void;
  /** The write succeeded: its own change is not a conflict. */
  readonly settle: () => void;
};

/** Keeps the base version while `active`, whatever the change feed reports. With a `snapshot` of what the person sees,
 * it keeps the base only when that changes; otherwise a newer version is as good as the one they saw. */
export function useVersionGuard(policyVersion: number | undefined, active = true, snapshot = ""): VersionGuard {
  const current = policyVersion ?? 0;
  const isActive = active && policyVersion !== undefined;
  const [saved, setSaved] = useState<GuardState | null>(null);
  const initial: GuardState = { version: current, startVersion: current, rejected: false, settled: false, snapshot };
  let state = isActive ? (saved ?? initial) : null;
  if (state !== null && snapshot !== "" && state.snapshot === snapshot && !state.rejected && state.version < current) state = { ...state, version: current, startVersion: current };
  // Set during the render, so that no frame shows a version the person has not seen.
  if (state !== saved) setSaved(state);
  const newest = Math.max(current, state?.version ?? 0);
  return useMemo(
    () => ({
      active: state !== null,
      version: state?.version ?? current,
      startVersion: state?.startVersion ?? current,
      snapshot: state?.snapshot ?? snapshot,
      outdated: state !== null && !state.settled && (state.rejected || newest > state.version || state.snapshot !== snapshot),
      rejected: state?.rejected ?? false,
      accept: () => setSaved((previous) => previous && { ...previous, version: newest, startVersion: newest, rejected: false, snapshot }),
      reject: (problem) => setSaved((previous) => previous && { ...previous, version: problem.policyVersion ?? newest, rejected: true, snapshot }),
      settle: () => setSaved((previous) => previous && { ...previous, settled: true }),
    }),
    [state, current, newest, snapshot],
  );
}
