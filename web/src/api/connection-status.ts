/** Whether the gateway is unreachable: shown on every screen and in every dialog. */
import { useConnectionStatus } from "./change-feed";
import { useSession } from "./session";

export function useGatewayUnreachable(): boolean {
  const sessionUnreachable = useSession().error?.status === 0;
  return useConnectionStatus() !== "live" && sessionUnreachable;
}
