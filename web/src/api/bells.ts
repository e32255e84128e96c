/** What the page does when a bell rings. A bell says only which noun changed; the page asks again. */
import { useEffect, useRef, useSyncExternalStore } from "react";
import { queries, ring } from "./answers";
import { API } from "./client";
import { listen, type Heard, type Line } from "./line";
import { SESSION } from "./session";

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
export function useBells(signedIn: boolean): void {
  const missed = useRef(false);
  useEffect(() => {
    if (!signedIn) {
      missed.current = true;
      return;
    }
    const hear = (heard: Heard): void => {
      if ("noun" in heard) {
        ring(heard.noun);
        return;
      }
      if (heard.line === "opening") {
        missed.current = true;
        return;
      }
      become(heard.line);
      if (heard.line === "live" && missed.current) {
        missed.current = false;
        ring();
      }
      if (heard.line === "lost") {
        missed.current = true;
        // A stream does not tell why it ended: whether the gateway is away or knows this browser no more says the session.
        void queries.invalidateQueries({ queryKey: SESSION });
      }
    };
    const begin = (): (() => void) => listen(`${API}/events`, hear);
    let end = begin();
    // A page that is left may be kept for the way back: it holds no connection meanwhile, and hears nothing.
    const left = (): void => {
      end();
      missed.current = true;
    };
    const back = (event: PageTransitionEvent): void => {
      if (event.persisted) end = begin();
    };
    addEventListener("pagehide", left);
    addEventListener("pageshow", back);
    return () => {
      removeEventListener("pagehide", left);
      removeEventListener("pageshow", back);
      end();
      become("opening");
    };
  }, [signedIn]);
}
