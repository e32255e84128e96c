/** The records that fit, the newest first: pages into the past, and before them whatever came since, as it comes. */
import { useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { ask } from "@/api/client";
import type { Problem } from "@/api/problem";
import { queryText, type Query } from "@/lib/place";
import type { ActivityPage, ActivityRecord, Onward } from "./shapes";

const PAGE = 100;
const MOST_AT_ONCE = 500;
const MOST_STEPS = 40;

type Since = { readonly rows: readonly ActivityRecord[]; readonly after: number };
type First = ActivityPage & { readonly latest: number };

export type Records = {
  readonly rows: readonly ActivityRecord[] | undefined;
  readonly error: Problem | null;
  readonly again: () => void;
  readonly hasOlder: boolean;
  readonly older: () => void;
  readonly isAsking: boolean;
  /** Another number each time something came. */
  readonly pulse: number;
};

async function page(query: Query, before: number | null, signal: AbortSignal): Promise<ActivityPage> {
  // Where little fits among many records, a part may be empty though there are more.
  let from = before;
  for (let step = 0; ; step += 1) {
    const told = await ask<ActivityPage>("/activity", { query: { ...query, limit: PAGE, before: from }, signal });
    if (told.activity.length > 0 || told.next === null || step === MOST_STEPS) return told;
    from = told.next;
  }
}

export function useRecords(query: Query): Records {
  const client = useQueryClient();
  const text = queryText(query);
  const past = useInfiniteQuery<First, Problem, { pages: First[] }, readonly unknown[], number | null>({
    queryKey: [[], "/activity", text],
    queryFn: async ({ pageParam, signal }) => {
      const latest = pageParam === null ? (await ask<{ latest: number }>("/activity/latest", { signal })).latest : 0;
      // What is written between the two questions is told twice, and shown once.
      return { ...(await page(query, pageParam, signal)), latest };
    },
    initialPageParam: null,
    getNextPageParam: (last) => last.next,
    staleTime: Infinity,
    gcTime: 0,
    refetchOnWindowFocus: false,
  });
  const start = past.data?.pages[0]?.latest;
  const key = [["activity"], "/activity/after", text, start];
  const since = useQuery<Since, Problem>({
    queryKey: key,
    // Each part is kept as it comes: on a busy gateway the next bell rings before all is read, and asks anew.
    queryFn: async () => {
      const known = (): Since => client.getQueryData<Since>(key) ?? { rows: [], after: start ?? 0 };
      for (let step = 0; step < MOST_STEPS; step += 1) {
        const { after } = known();
        const told = await ask<Onward>("/activity/after", { query: { ...query, after, limit: MOST_AT_ONCE } });
        const { after: now, rows } = known();
        if (now !== after) continue;
        if (told.after === after) break;
        client.setQueryData<Since>(key, { rows: [...told.activity.toReversed(), ...rows], after: told.after });
      }
      return known();
    },
    enabled: start !== undefined,
    gcTime: 0,
  });
  const fresh = since.data?.rows ?? [];
  const oldest = fresh.at(-1)?.id ?? Infinity;
  const told = past.data?.pages.flatMap((each) => each.activity);
  return {
    rows: told && [...fresh, ...told.filter((record) => record.id < oldest)],
    error: past.error ?? since.error,
    again: () => void past.refetch(),
    hasOlder: past.hasNextPage,
    older: () => void past.fetchNextPage(),
    isAsking: past.isFetchingNextPage,
    pulse: fresh.length,
  };
}
