/** Who is signed in here, and what they may. */
import { useQuery, useQueryClient, type UseQueryResult } from "@tanstack/react-query";
import { request } from "./client";
import { toast } from "@/components/toast";
import type { Problem } from "./problem";
import type { Session } from "./types";

export type Scope = "read" | "operate" | "admin" | "call";

export const SESSION_QUERY_KEY = [["tokens"], "/session", ""] as const;

/** While nobody is signed in, how often it is asked whether somebody is: in another tab, by the same cookie. */
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

/** Whether the gateway would take a write of this kind from whoever looks; it decides again when asked. */
export function useHasScope(scope: Scope): boolean {
  return useSession().data?.scopes.includes(scope) ?? false;
}

export function useSignInOut(): { signIn: (token: string) => Promise<void>; signOut: () => Promise<void> } {
  const client = useQueryClient();
  return {
    signIn: async (token) => {
      const previous = client.getQueryData<Session>(SESSION_QUERY_KEY);
      const current = await request<Session>("/session", { method: "POST", body: { token } });
      // The same person goes on where they were, with all that they wrote.
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
