import { useSyncExternalStore, type ReactElement } from "react";
import { ago, moment } from "@/lib/words";

let now = Date.now();
const listeners = new Set<() => void>();
let ticking: ReturnType<typeof setInterval> | undefined;

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  ticking ??= setInterval(() => {
    now = Date.now();
    for (const each of listeners) each();
  }, 5000);
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0) {
      clearInterval(ticking);
      ticking = undefined;
    }
  };
}

/** "5 min ago", kept true, with the moment in full as its title. */
export function Time({ at }: { at: string | null | undefined }): ReactElement {
  const from = useSyncExternalStore(subscribe, () => now);
  if (at === null || at === undefined) return <span className="quiet">never</span>;
  return (
    <time dateTime={at} title={moment(at)}>
      {ago(at, Math.max(from, Date.now()))}
    </time>
  );
}
