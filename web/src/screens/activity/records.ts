/** The matching records, the newest first: pages of older ones, and new ones as they are written. */
import { useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { request } from "@/api/client";
import type { Problem } from "@/api/problem";
import { queryString, type Query } from "@/lib/router";
import type { ActivityPage, ActivityRecord, NewerPage } from "./types";

const PAGE_SIZE = 100;
const MAX_PER_REQUEST = 500;
const MAX_REQUESTS = 40;

type NewerRecords = { readonly rows: readonly ActivityRecord[]; readonly after: number };
type FirstPage = ActivityPage & { readonly latest: number };

export type Records = {
  readonly rows: readonly ActivityRecord[] | undefined;
  readonly error: Problem | null;
  readonly retry: () => void;
  readonly hasOlder: boolean;
  readonly loadOlder: () => void;
  readonly isLoadingOlder: boolean;
  /** Changes when new records arrive. */
  readonly revision: number;
};

async function fetchPage(query: Query, before: number | null, signal: AbortSignal): Promise<ActivityPage> {
  // With few matches among many records a page may be empty although there are more.
  let cursor = before;
  for (let step = 0; ; step += 1) {
    const response = await request<ActivityPage>("/activity", { query: { ...query, limit: PAGE_SIZE, before: cursor }, signal });
    if (response.activity.length > 0 || response.next === null || step === MAX_REQUESTS) return response;
    cursor = response.next;
  }
}

export function useRecords(query: Query): Records {
  const client = useQueryClient();
  const text = queryString(query);
  const olderPages = useInfiniteQuery<FirstPage, Problem, { pages: FirstPage[] }, readonly unknown[], number | null>({
    queryKey: [[], "/activity", text],
    queryFn: async ({ pageParam, signal }) => {
      const latest = pageParam === null ? (await request<{ latest: number }>("/activity/latest", { signal })).latest : 0;
      // A record that is written between the two requests is returned twice and shown once.
      return { ...(await fetchPage(query, pageParam, signal)), latest };
    },
    initialPageParam: null,
    getNextPageParam: (last) => last.next,
    staleTime: Infinity,
    gcTime: 0,
    refetchOnWindowFocus: false,
  });
  const latestAtStart = olderPages.data?.pages[0]?.latest;
  const newerKey = [["activity"], "/activity/after", text, latestAtStart];
  const newer = useQuery<NewerRecords, Problem>({
    queryKey: newerKey,
    // Each page is stored at once: on a busy gateway the next event restarts this before all pages are read.
    queryFn: async () => {
      const cached = (): NewerRecords => client.getQueryData<NewerRecords>(newerKey) ?? { rows: [], after: latestAtStart ?? 0 };
      for (let step = 0; step < MAX_REQUESTS; step += 1) {
        const { after } = cached();
        const older = await request<NewerPage>("/activity/after", { query: { ...query, after, limit: MAX_PER_REQUEST } });
        const { after: currentAfter, rows } = cached();
        if (currentAfter !== after) continue;
        if (older.after === after) break;
        client.setQueryData<NewerRecords>(newerKey, { rows: [...older.activity.toReversed(), ...rows], after: older.after });
      }
      return cached();
    },
    enabled: latestAtStart !== undefined,
    gcTime: 0,
  });
  const newRows = newer.data?.rows ?? [];
  const oldestNewId = newRows.at(-1)?.id ?? Infinity;
  const older = olderPages.data?.pages.flatMap((each) => each.activity);
  return {
    rows: older && [...newRows, ...older.filter((record) => record.id < oldestNewId)],
    error: olderPages.error ?? newer.error,
    retry: () => void olderPages.refetch(),
    hasOlder: olderPages.hasNextPage,
    loadOlder: () => void olderPages.fetchNextPage(),
    isLoadingOlder: olderPages.isFetchingNextPage,
    revision: newRows.length,
  };
}
