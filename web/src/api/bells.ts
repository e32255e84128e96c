/** One event stream for the whole page. A bell says only which noun changed; the page asks again. */
import { useEffect, useRef, useSyncExternalStore } from "react";
import { queries, ring, type Noun } from "./answers";
import { API } from "./client";
import { SESSION } from "./session";

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

/** Tries again after an answer that is no stream; after a lost line a browser does so by itself. */
const PAUSE = 3000;

/** Listens while the page is signed in. What was missed while the line was lost is asked for again. */
export function useBells(signedIn: boolean): void {
  const missed = useRef(false);
  useEffect(() => {
    if (!signedIn) {
      missed.current = true;
      return;
    }
    let again: ReturnType<typeof setTimeout> | undefined;
    let source: EventSource;
    const open = (): void => {
      source = new EventSource(`${API}/events`);
      source.addEventListener("hello", () => {
        become("live");
        if (missed.current) ring();
        missed.current = false;
      });
      source.addEventListener("bell", (event) => {
        const { noun } = JSON.parse((event as MessageEvent<string>).data) as { noun: Noun };
        ring(noun);
      });
      source.onerror = () => {
        missed.current = true;
        become("lost");
        // A stream does not tell why it ended: whether the gateway is away or knows this browser no more says the session.
        void queries.invalidateQueries({ queryKey: SESSION });
        if (source.readyState === EventSource.CLOSED) again = setTimeout(open, PAUSE);
      };
    };
    open();
    return () => {
      clearTimeout(again);
      source.close();
      become("opening");
    };
  }, [signedIn]);
}
