/** Whether the gateway does not answer: told on every screen, and in every dialog that lies over it. */
import { useLine } from "./bells";
import { useSession } from "./session";

export function useAway(): boolean {
  const unreached = useSession().error?.status === 0;
  return useLine() !== "live" && unreached;
}
