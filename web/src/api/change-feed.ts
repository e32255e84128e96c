/** What the page does when a bell rings. A bell says only which noun changed; the page asks again. */
import { useEffect, useRef, useSyncExternalStore } from "react";
import { queryClient, invalidate } from "./queries";
import { API } from "./client";
import { subscribeToEvents, type FeedEvent, type ConnectionStatus } from "./event-stream";
import { SESSION_QUERY_KEY } from "./session";

let status: ConnectionStatus = "opening";
const listeners = new Set<() => void>();

function setStatus(next: ConnectionStatus): void {
  if (status === next) return;
  status = next;
  for (const listener of listeners) listener();
}

export function useConnectionStatus(): ConnectionStatus {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => status,
  );
}

/** Listens while the page is signed in. What was missed while the line was lost is asked for again. */
export function useChangeFeed(signedIn: boolean): void {
  const missed = useRef(false);
  useEffect(() => {
    if (!signedIn) {
      missed.current = true;
      return;
    }
    const handleEvent = (event: FeedEvent): void => {
      if ("topic" in event) {
        invalidate(event.topic);
        return;
      }
      if (event.status === "opening") {
        missed.current = true;
        return;
      }
      setStatus(event.status);
      if (event.status === "live" && missed.current) {
        missed.current = false;
        invalidate();
      }
      if (event.status === "lost") {
        missed.current = true;
        // A stream does not tell why it ended: whether the gateway is away or knows this browser no more says the session.
        void queryClient.invalidateQueries({ queryKey: SESSION_QUERY_KEY });
      }
    };
    const connect = (): (() => void) => subscribeToEvents(`${API}/events`, handleEvent);
    let disconnect = connect();
    // A page that is left may be kept for the way back: it holds no connection meanwhile, and hears nothing.
    const handlePageHide = (): void => {
      disconnect();
      missed.current = true;
    };
    const handlePageShow = (event: PageTransitionEvent): void => {
      if (event.persisted) disconnect = connect();
    };
    addEventListener("pagehide", handlePageHide);
    addEventListener("pageshow", handlePageShow);
    return () => {
      removeEventListener("pagehide", handlePageHide);
      removeEventListener("pageshow", handlePageShow);
      disconnect();
      setStatus("opening");
    };
  }, [signedIn]);
}
