/** Who is signed in here, and what they may. */
import { useQuery, useQueryClient, type UseQueryResult } from "@tanstack/react-query";
import { ask } from "./client";
import type { Problem } from "./problem";
import type { Session } from "./types";

export type Scope = "read" | "operate" | "admin" | "call";

export function useSession(): UseQueryResult<Session, Problem> {
  return useQuery<Session, Problem>({
    queryKey: [["tokens"], "/session", ""],
    queryFn: ({ signal }) => ask<Session>("/session", { signal }),
    staleTime: 60_000,
    retry: false,
  });
}

/** Whether the gateway would take a write of this kind from whoever looks; it decides again when asked. */
export function useMay(scope: Scope): boolean {
  return useSession().data?.scopes.includes(scope) ?? false;
}

export function useSigning(): { signIn: (token: string) => Promise<void>; signOut: () => Promise<void> } {
  const client = useQueryClient();
  return {
    signIn: async (token) => {
      await ask("/session", { method: "POST", body: { token } });
      await client.resetQueries();
    },
    signOut: async () => {
      await ask("/session", { method: "DELETE" });
      await client.resetQueries();
    },
  };
}
