/** Who is signed in, and their scopes. */
import { useQuery, useQueryClient, type UseQueryResult } from "@tanstack/react-query";
import { request } from "./client";
import { toast } from "@/components/toast";
import type { Problem } from "./problem";
import type { Session } from "./types";

export type Scope = "read" | "operate" | "admin" | "call";

export const SESSION_QUERY_KEY = [["tokens"], "/session", ""] as const;

/** How often a signed-out tab checks for a session: signing in on another tab sets the same cookie. */
const SIGNED_OUT_POLL_MS = 5_000;

export function useSession(): UseQueryResult<Session, Problem> {
  return useQuery<Session, Problem>({
    queryKey: SESSION_QUERY_KEY,
    queryFn: ({ signal }) => request<Session>("/session", { signal }),
    staleTime: 60_000,
    retry: false,
    refetchInterval: (query) => (query.state.error?.isSignedOut ? SIGNED_OUT_POLL_MS : false),
  });
}

/** Whether the session has this scope. It decides what the UI offers; the gateway checks every request. */
export function useHasScope(scope: Scope): boolean {
  return useSession().data?.scopes.includes(scope) ?? false;
}

export function useSignInOut(): { signIn: (token: string) => Promise<void>; signOut: () => Promise<void> } {
  const client = useQueryClient();
  return {
    signIn: async (token) => {
      const previous = client.getQueryData<Session>(SESSION_QUERY_KEY);
      const current = await request<Session>("/session", { method: "POST", body: { token } });
      // The same principal continues with everything they entered; another one starts fresh.
      if (previous?.principal === current.principal) await client.invalidateQueries();
      else await client.resetQueries();
    },
    signOut: async () => {
      try {
        await request("/session", { method: "DELETE" });
      } catch (problem) {
        toast(`You are not signed out. ${(problem as Problem).message}`, "broken");
        return;
      }
      await client.resetQueries();
    },
  };
}
