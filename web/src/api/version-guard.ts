/** What a person stands on while they decide: the policy's version at which a dialog, a draft or a selection was begun. */
import { useMemo, useState } from "react";
import type { Problem } from "./problem";

type GuardState = {
  /** What a write carries. */
  readonly version: number;
  /** What was looked at first: whatever was decided since is told. */
  readonly startVersion: number;
  readonly rejected: boolean;
  readonly settled: boolean;
  readonly snapshot: string;
};

export type VersionGuard = {
  /** Otherwise it follows what is on the page, as an act of one click does. */
  readonly active: boolean;
  readonly version: number;
  readonly startVersion: number;
  /** What was seen when it was begun. */
  readonly snapshot: string;
  /** Something was decided since, and the person has not yet said that they know it. */
  readonly outdated: boolean;
  /** What they sent was not carried out for it; sent once more, it stands on what holds now. */
  readonly rejected: boolean;
  /** They know: from here on it stands on what holds now. */
  readonly accept: () => void;
  readonly reject: (problem: Problem) => void;
  /** It was carried out: what changed by that is no news. */
  readonly settle: () => void;
};

/** Held fast while `open`, whatever a bell brings. Where `seen` is given, it is held fast to what is seen: as long as
 * that stays the same, a newer version is one that the person looks at. */
export function useVersionGuard(policyVersion: number | undefined, active = true, snapshot = ""): VersionGuard {
  const current = policyVersion ?? 0;
  const isActive = active && policyVersion !== undefined;
  const [saved, setSaved] = useState<GuardState | null>(null);
  const initial: GuardState = { version: current, startVersion: current, rejected: false, settled: false, snapshot };
  let state = isActive ? (saved ?? initial) : null;
  if (state !== null && snapshot !== "" && state.snapshot === snapshot && !state.rejected && state.version < current) state = { ...state, version: current, startVersion: current };
  // While it is rendered, so that nobody sees a version that no person looked at.
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
