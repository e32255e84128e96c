import { useSyncExternalStore, type ReactElement } from "react";
import { ago, lasting, moment } from "@/lib/words";

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

/** "5 min ago" or, of what has been so since then, "for 5 min"; kept true, with the moment in full as its title. */
export function Time({ at, lasts = false }: { at: string | null | undefined; lasts?: boolean }): ReactElement {
  const from = useSyncExternalStore(subscribe, () => now);
  if (at === null || at === undefined) return <span className="quiet">never</span>;
  return (
    <time dateTime={at} title={moment(at)}>
      {(lasts ? lasting : ago)(at, Math.max(from, Date.now()))}
    </time>
  );
}
