/** The status of the connection to the gateway: of its event stream, and of its session. */
import { useSyncExternalStore } from "react";
import type { ConnectionStatus } from "./event-stream";
import { useSession } from "./session";

let currentStatus: ConnectionStatus = "opening";
const listeners = new Set<() => void>();

export function setStatus(next: ConnectionStatus): void {
  if (currentStatus === next) return;
  currentStatus = next;
  for (const listener of listeners) listener();
}

export function useConnectionStatus(): ConnectionStatus {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => currentStatus,
  );
}

/** Whether the gateway is unreachable: shown on every screen and in every dialog. */
export function useGatewayUnreachable(): boolean {
  const sessionUnreachable = useSession().error?.status === 0;
  return useConnectionStatus() !== "live" && sessionUnreachable;
}
