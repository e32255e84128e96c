/** Whether the gateway does not answer: told on every screen, and in every dialog that lies over it. */
import { useConnectionStatus } from "./change-feed";
import { useSession } from "./session";

export function useGatewayUnreachable(): boolean {
  const sessionUnreachable = useSession().error?.status === 0;
  return useConnectionStatus() !== "live" && sessionUnreachable;
}
