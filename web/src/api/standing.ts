/** What a person stands on while they decide: the policy's version at which a dialog, a draft or a selection was begun. */
import { useMemo, useState } from "react";
import type { Problem } from "./problem";

type Held = {
  /** What a write carries. */
  readonly base: number;
  /** What was looked at first: whatever was decided since is told. */
  readonly from: number;
  readonly refused: boolean;
  readonly over: boolean;
  readonly seen: string;
};

export type Stand = {
  /** Otherwise it follows what is on the page, as an act of one click does. */
  readonly open: boolean;
  readonly version: number;
  readonly from: number;
  /** What was seen when it was begun. */
  readonly seen: string;
  /** Something was decided since, and the person has not yet said that they know it. */
  readonly moved: boolean;
  /** What they sent was not carried out for it; sent once more, it stands on what holds now. */
  readonly refused: boolean;
  /** They know: from here on it stands on what holds now. */
  readonly renew: () => void;
  readonly refuse: (problem: Problem) => void;
  /** It was carried out: what changed by that is no news. */
  readonly settle: () => void;
};

/** Held fast while `open`, whatever a bell brings. Where `seen` is given, it is held fast to what is seen: as long as
 * that stays the same, a newer version is one that the person looks at. */
export function useStand(now: number | undefined, open = true, seen = ""): Stand {
  const current = now ?? 0;
  const isOpen = open && now !== undefined;
  const [kept, keep] = useState<Held | null>(null);
  const fresh: Held = { base: current, from: current, refused: false, over: false, seen };
  let held = isOpen ? (kept ?? fresh) : null;
  if (held !== null && seen !== "" && held.seen === seen && !held.refused && held.base < current) held = { ...held, base: current, from: current };
  // While it is rendered, so that nobody sees a version that no person looked at.
  if (held !== kept) keep(held);
  const newest = Math.max(current, held?.base ?? 0);
  return useMemo(
    () => ({
      open: held !== null,
      version: held?.base ?? current,
      from: held?.from ?? current,
      seen: held?.seen ?? seen,
      moved: held !== null && !held.over && (held.refused || newest > held.base || held.seen !== seen),
      refused: held?.refused ?? false,
      renew: () => keep((before) => before && { ...before, base: newest, from: newest, refused: false, seen }),
      refuse: (problem) => keep((before) => before && { ...before, base: problem.policyVersion ?? newest, refused: true, seen }),
      settle: () => keep((before) => before && { ...before, over: true }),
    }),
    [held, current, newest, seen],
  );
}
