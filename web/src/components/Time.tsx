import { useSyncExternalStore, type ReactElement } from "react";
import { formatRelativeTime, formatElapsedTime, formatDateTime } from "@/lib/format";

let now = Date.now();
const listeners = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(() => {
    now = Date.now();
    for (const each of listeners) each();
  }, 5000);
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0) {
      clearInterval(timer);
      timer = undefined;
    }
  };
}

/** "5 min ago", or with `elapsed` "for 5 min". It updates itself and has the full date as its title. */
export function Time({ at, elapsed = false }: { at: string | null | undefined; elapsed?: boolean }): ReactElement {
  const currentTime = useSyncExternalStore(subscribe, () => now);
  if (at === null || at === undefined) return <span className="muted">never</span>;
  return (
    <time dateTime={at} title={formatDateTime(at)}>
      {(elapsed ? formatElapsedTime : formatRelativeTime)(at, Math.max(currentTime, Date.now()))}
    </time>
  );
}
