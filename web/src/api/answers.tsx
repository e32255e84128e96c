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
import type { Query } from "@/lib/place";
import { queryText } from "@/lib/place";
import { toast, tellStale } from "@/parts/toast";
import { ask, type Asking } from "./client";
import { Problem } from "./problem";
import type { Stand } from "./standing";

/** What the event stream rings for. */
export type Noun =
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

export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      retry: (times, error) => times < 2 && error instanceof Problem && (error.status === 0 || error.status === 503),
      refetchOnWindowFocus: true,
    },
  },
});

/** What is being asked for when a bell rings for it: asked again when the answer is there. */
const later = new Set<string>();
const began = new Map<string, number>();

/** Ask again for whatever shows this noun; without one, for everything. What is being asked for is not broken off, and
 * rests afterwards for as long as it took: of a busy board that rings all the time no answer would ever come. */
export function ring(noun?: Noun): void {
  const fits = ({ queryKey }: AnyQuery): boolean => noun === undefined || (queryKey[0] as readonly Noun[]).includes(noun);
  for (const query of queries.getQueryCache().findAll({ fetchStatus: "fetching", predicate: fits })) later.add(query.queryHash);
  void queries.invalidateQueries({ predicate: (query) => fits(query) && query.state.fetchStatus !== "fetching" && !later.has(query.queryHash) });
}

queries.getQueryCache().subscribe(({ type, query }) => {
  if (type !== "updated" && type !== "removed") return;
  const hash = query.queryHash;
  if (query.state.fetchStatus === "fetching") {
    if (!began.has(hash)) began.set(hash, performance.now());
    return;
  }
  const took = performance.now() - (began.get(hash) ?? performance.now());
  began.delete(hash);
  if (!later.has(hash)) return;
  setTimeout(() => {
    if (later.delete(hash)) void queries.invalidateQueries({ predicate: (each) => each.queryHash === hash });
  }, took);
});

type Options = {
  /** Ask only when true: while a parameter is missing there is nothing to ask. */
  readonly when?: boolean;
  /** Show the answer to the last question until the next one is there. */
  readonly keeps?: boolean;
};

/** The answer of a route, asked again when a bell rings for one of `nouns`. */
export function useAnswer<T>(
  nouns: readonly Noun[],
  path: string,
  query: Query = {},
  { when = true, keeps = true }: Options = {},
): UseQueryResult<T, Problem> {
  return useQuery<T, Problem>({
    queryKey: [nouns, path, queryText(query)],
    queryFn: ({ signal }) => ask<T>(path, { query, signal }),
    enabled: when,
    ...(keeps ? { placeholderData: keepPreviousData } : {}),
  });
}

/** What every list has: a bounded part, and where the next begins. */
export type Paged = { readonly next?: string | null };

/** All parts of a list, one after the other, as one answer. `join` puts the next part to what is there. */
export function useWhole<T extends Paged>(
  nouns: readonly Noun[],
  path: string,
  query: Query,
  join: (before: T, next: T) => T,
  { when = true, keeps = true }: Options = {},
): UseQueryResult<T, Problem> {
  return useQuery<T, Problem>({
    queryKey: [nouns, path, queryText(query), "whole"],
    queryFn: async ({ signal }) => {
      let whole = await ask<T>(path, { query, signal });
      while (whole.next != null) {
        whole = join(whole, await ask<T>(path, { query: { ...query, after: whole.next }, signal }));
      }
      return whole;
    },
    enabled: when,
    ...(keeps ? { placeholderData: keepPreviousData } : {}),
  });
}

export type Deed = {
  readonly method?: Exclude<Asking["method"], "GET">;
  readonly path: string;
  readonly query?: Query;
  readonly body?: unknown;
  /** `answer.policyVersion` of what the person looked at, where it is not that of a stand. */
  readonly version?: number | null;
  /** Said when it is done: "delete_repo is off". */
  readonly done?: string;
  /** Called when it is done and everything was asked again. Unlike a callback given to `mutate`, it is called also when the
   * component is gone by then: a bell may bring the new state, and take the component away, before the answer arrives. */
  readonly onDone?: () => void;
};

/** A write. A problem is told in its own words; when somebody else decided meanwhile, the page says so and offers to
 * look again, or leaves it to the `stand` of an open dialog or draft, on whose version it is sent. Pass `silent` where
 * the screen shows the problem itself. */
export function useDeed<T = unknown>({ silent = false, stand }: { silent?: boolean; stand?: Stand } = {}): UseMutationResult<T, Problem, Deed> {
  const client = useQueryClient();
  return useMutation<T, Problem, Deed>({
    mutationFn: ({ method = "POST", path, query, body, version = stand?.version }) =>
      ask<T>(path, {
        method,
        ...(query === undefined ? {} : { query }),
        ...(body === undefined ? {} : { body }),
        ...(version === undefined ? {} : { version }),
      }),
    onSuccess: async (_, deed) => {
      if (deed.done !== undefined) toast(deed.done, "open");
      stand?.settle();
      await client.invalidateQueries();
      deed.onDone?.();
    },
    onError: (problem) => {
      if (problem.isStale) {
        if (stand === undefined || !stand.open) tellStale(problem);
        else stand.refuse(problem);
        ring();
      } else if (!silent && !problem.isSignedOut) toast(problem.message, "broken");
      if (problem.isSignedOut) ring();
    },
  });
}
