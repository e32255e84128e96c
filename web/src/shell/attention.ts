/** How many items of each screen wait for a person, as the gateway counts them. */
import { useApiQuery } from "@/api/queries";
import type { Servers, Status } from "@/api/types";

export function useAttention(): Readonly<Record<string, number>> {
  const status = useApiQuery<Status>(["approvals", "tickets", "board"], "/status").data;
  const servers = useApiQuery<Servers>(["servers"], "/servers").data;
  return {
    "/approvals": (status?.waitingApprovals ?? 0) + (status?.waitingTickets ?? 0),
    "/servers": servers?.servers.filter(({ health }) => health.state === "down" || health.state === "needs_sign_in").length ?? 0,
  };
}
