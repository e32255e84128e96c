/** One event stream for the whole page. A bell says only which noun changed; the page asks again. */
import { useEffect, useSyncExternalStore } from "react";
import { ring, type Noun } from "./answers";
import { API } from "./client";

export type Line = "opening" | "live" | "lost";

let line: Line = "opening";
const listeners = new Set<() => void>();

function become(next: Line): void {
  if (line === next) return;
  line = next;
  for (const listener of listeners) listener();
}

export function useLine(): Line {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => line,
  );
}

/** Listens while the page is signed in. What was missed while the line was lost is asked for again. */
export function useBells(): void {
  useEffect(() => {
    let missed = false;
    let again: ReturnType<typeof setTimeout> | undefined;
    let source: EventSource;
    const open = (): void => {
      source = new EventSource(`${API}/events`);
      source.addEventListener("hello", () => {
        become("live");
        if (missed) ring();
        missed = false;
      });
      source.addEventListener("bell", (event) => {
        const { noun } = JSON.parse((event as MessageEvent<string>).data) as { noun: Noun };
        ring(noun);
      });
      source.onerror = () => {
        missed = true;
        become("lost");
        // A browser tries again by itself after a lost line, and gives up after an answer that is no stream.
        if (source.readyState === EventSource.CLOSED) again = setTimeout(open, 5000);
      };
    };
    open();
    return () => {
      clearTimeout(again);
      source.close();
      become("opening");
    };
  }, []);
}
