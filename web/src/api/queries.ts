/** Reading and writing: `useApiQuery` fetches and follows the change feed, `useApiMutation` writes with its base version. */
import {
  keepPreviousData,
  QueryClient,
  type Query as CachedQuery,
  useMutation,
  useQuery,
  useQueryClient,
  type UseMutationResult,
  type UseQueryResult,
} from "@tanstack/react-query";
import type { Query } from "@/lib/router";
import { queryString } from "@/lib/router";
import { toast, showStaleDialog } from "@/components/toast";
import { request, type RequestOptions } from "./client";
import { Problem } from "./problem";
import type { VersionGuard } from "./version-guard";

/** The topics of the change feed. */
export type Topic =
  | "board"
  | "servers"
  | "toolsets"
  | "approvals"
  | "tickets"
  | "activity"
  | "policy"
  | "settings"
  | "tokens"
  | "search";

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      retry: (failureCount, error) => failureCount < 2 && error instanceof Problem && (error.status === 0 || error.status === 503),
      refetchOnWindowFocus: true,
    },
  },
});

/** Queries that were fetching when their topic changed: refetched once they have settled. */
const refetchAfterSettle = new Set<string>();
const fetchStartedAt = new Map<string, number>();

/** Refetches the queries of a topic, or all of them. A query that is fetching is not cancelled; it is refetched after a
 * pause as long as the fetch took. Otherwise a board that changes all the time would never load. */
export function invalidate(topic?: Topic): void {
  const matchesTopic = ({ queryKey }: CachedQuery): boolean => topic === undefined || (queryKey[0] as readonly Topic[]).includes(topic);
  for (const query of queryClient.getQueryCache().findAll({ fetchStatus: "fetching", predicate: matchesTopic })) refetchAfterSettle.add(query.queryHash);
  void queryClient.invalidateQueries({ predicate: (query) => matchesTopic(query) && query.state.fetchStatus !== "fetching" && !refetchAfterSettle.has(query.queryHash) });
}

queryClient.getQueryCache().subscribe(({ type, query }) => {
  if (type !== "updated" && type !== "removed") return;
  const hash = query.queryHash;
  if (query.state.fetchStatus === "fetching") {
    if (!fetchStartedAt.has(hash)) fetchStartedAt.set(hash, performance.now());
    return;
  }
  const elapsedMs = performance.now() - (fetchStartedAt.get(hash) ?? performance.now());
  fetchStartedAt.delete(hash);
  if (!refetchAfterSettle.has(hash)) return;
  setTimeout(() => {
    if (refetchAfterSettle.delete(hash)) void queryClient.invalidateQueries({ predicate: (each) => each.queryHash === hash });
  }, elapsedMs);
});

type QueryOptions = {
  /** Fetch only if true, for example not while a parameter is missing. */
  readonly enabled?: boolean;
  /** Show the previous data until the new data has loaded. */
  readonly keepPrevious?: boolean;
};

/** The data of a route, refetched when one of `topics` changes. */
export function useApiQuery<T>(
  topics: readonly Topic[],
  path: string,
  query: Query = {},
  { enabled = true, keepPrevious = true }: QueryOptions = {},
): UseQueryResult<T, Problem> {
  return useQuery<T, Problem>({
    queryKey: [topics, path, queryString(query)],
    queryFn: ({ signal }) => request<T>(path, { query, signal }),
    enabled,
    ...(keepPrevious ? { placeholderData: keepPreviousData } : {}),
  });
}

/** What every paginated response has. */
export type Page = { readonly next?: string | null };

/** All pages of a list as one result; `mergePages` appends a page. */
export function useAllPages<T extends Page>(
  topics: readonly Topic[],
  path: string,
  query: Query,
  mergePages: (previous: T, next: T) => T,
  { enabled = true, keepPrevious = true }: QueryOptions = {},
): UseQueryResult<T, Problem> {
  return useQuery<T, Problem>({
    queryKey: [topics, path, queryString(query), "all-pages"],
    queryFn: async ({ signal }) => {
      let result = await request<T>(path, { query, signal });
      while (result.next != null) {
        result = mergePages(result, await request<T>(path, { query: { ...query, after: result.next }, signal }));
      }
      return result;
    },
    enabled,
    ...(keepPrevious ? { placeholderData: keepPreviousData } : {}),
  });
}

export type ApiMutation = {
  readonly method?: Exclude<RequestOptions["method"], "GET">;
  readonly path: string;
  readonly query?: Query;
  readonly body?: unknown;
  /** The policy version the write is based on, if it is not that of the guard. */
  readonly version?: number | null;
  /** The message of the toast after success: "delete_repo is off". */
  readonly successMessage?: string;
  /** Called after success, when everything has been refetched. Unlike a callback that is passed to `mutate`, it is
   * called also when the component is unmounted by then: the change feed may remove it before the response arrives. */
  readonly afterSuccess?: () => void;
};

/** A write. An error becomes a toast. If it was rejected because of someone else's decision, a dialog offers to
 * refresh, or the active `guard` shows its notice. Pass `silent` if the component shows the error itself. */
export function useApiMutation<T = unknown>({ silent = false, guard }: { silent?: boolean; guard?: VersionGuard } = {}): UseMutationResult<T, Problem, ApiMutation> {
  const client = useQueryClient();
  return useMutation<T, Problem, ApiMutation>({
    mutationFn: ({ method = "POST", path, query, body, version = guard?.version }) =>
      request<T>(path, {
        method,
        ...(query === undefined ? {} : { query }),
        ...(body === undefined ? {} : { body }),
        ...(version === undefined ? {} : { version }),
      }),
    onSuccess: async (_, mutation) => {
      if (mutation.successMessage !== undefined) toast(mutation.successMessage, "open");
      guard?.settle();
      await client.invalidateQueries();
      mutation.afterSuccess?.();
    },
    onError: (problem) => {
      if (problem.isStale) {
        if (guard === undefined || !guard.active) showStaleDialog(problem);
        else guard.reject(problem);
        invalidate();
      } else if (!silent && !problem.isSignedOut) toast(problem.message, "broken");
      if (problem.isSignedOut) invalidate();
    },
  });
}
