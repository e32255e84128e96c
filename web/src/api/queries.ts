/** What screens read and do: `useAnswer` asks and follows the bells, `useDeed` writes with the version it stood on. */
import {
  keepPreviousData,
  QueryClient,
  type Query as AnyQuery,
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

/** What the event stream rings for. */
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
      retry: (times, error) => times < 2 && error instanceof Problem && (error.status === 0 || error.status === 503),
      refetchOnWindowFocus: true,
    },
  },
});

/** What is being asked for when a bell rings for it: asked again when the answer is there. */
const refetchAfterSettle = new Set<string>();
const fetchStartedAt = new Map<string, number>();

/** Ask again for whatever shows this noun; without one, for everything. What is being asked for is not broken off, and
 * rests afterwards for as long as it took: of a busy board that rings all the time no answer would ever come. */
export function invalidate(topic?: Topic): void {
  const matchesTopic = ({ queryKey }: AnyQuery): boolean => topic === undefined || (queryKey[0] as readonly Topic[]).includes(topic);
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
  /** Ask only when true: while a parameter is missing there is nothing to ask. */
  readonly enabled?: boolean;
  /** Show the answer to the last question until the next one is there. */
  readonly keepPrevious?: boolean;
};

/** The answer of a route, asked again when a bell rings for one of `nouns`. */
export function useApiQuery<T>(
  topics: readonly Topic[],
  path: string,
  query: Query = {},
  { enabled: when = true, keepPrevious: keeps = true }: QueryOptions = {},
): UseQueryResult<T, Problem> {
  return useQuery<T, Problem>({
    queryKey: [topics, path, queryString(query)],
    queryFn: ({ signal }) => request<T>(path, { query, signal }),
    enabled: when,
    ...(keeps ? { placeholderData: keepPreviousData } : {}),
  });
}

/** What every list has: a bounded part, and where the next begins. */
export type Page = { readonly next?: string | null };

/** All parts of a list, one after the other, as one answer. `join` puts the next part to what is there. */
export function useAllPages<T extends Page>(
  topics: readonly Topic[],
  path: string,
  query: Query,
  mergePages: (before: T, next: T) => T,
  { enabled: when = true, keepPrevious: keeps = true }: QueryOptions = {},
): UseQueryResult<T, Problem> {
  return useQuery<T, Problem>({
    queryKey: [topics, path, queryString(query), "whole"],
    queryFn: async ({ signal }) => {
      let result = await request<T>(path, { query, signal });
      while (result.next != null) {
        result = mergePages(result, await request<T>(path, { query: { ...query, after: result.next }, signal }));
      }
      return result;
    },
    enabled: when,
    ...(keeps ? { placeholderData: keepPreviousData } : {}),
  });
}

export type ApiMutation = {
  readonly method?: Exclude<RequestOptions["method"], "GET">;
  readonly path: string;
  readonly query?: Query;
  readonly body?: unknown;
  /** `answer.policyVersion` of what the person looked at, where it is not that of a stand. */
  readonly version?: number | null;
  /** Said when it is done: "delete_repo is off". */
  readonly successMessage?: string;
  /** Called when it is done and everything was asked again. Unlike a callback given to `mutate`, it is called also when the
   * component is gone by then: a bell may bring the new state, and take the component away, before the answer arrives. */
  readonly afterSuccess?: () => void;
};

/** A write. A problem is told in its own words; when somebody else decided meanwhile, the page says so and offers to
 * look again, or leaves it to the `stand` of an open dialog or draft, on whose version it is sent. Pass `silent` where
 * the screen shows the problem itself. */
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
