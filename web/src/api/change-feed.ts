/** Refetches data when the gateway reports a change. An event names only its topic; the data is fetched by the queries. */
import { useEffect, useRef } from "react";
import { queryClient, invalidate } from "./queries";
import { API } from "./client";
import { setStatus } from "./connection-status";
import { subscribeToEvents, type FeedEvent } from "./event-stream";
import { SESSION_QUERY_KEY } from "./session";

/** Subscribes while signed in. After a lost connection everything is refetched. */
export function useChangeFeed(signedIn: boolean): void {
  const needsRefetch = useRef(false);
  useEffect(() => {
    if (!signedIn) {
      needsRefetch.current = true;
      return;
    }
    const handleEvent = (event: FeedEvent): void => {
      if ("topic" in event) {
        invalidate(event.topic);
        return;
      }
      if (event.status === "opening") {
        needsRefetch.current = true;
        return;
      }
      setStatus(event.status);
      if (event.status === "live" && needsRefetch.current) {
        needsRefetch.current = false;
        invalidate();
      }
      if (event.status === "lost") {
        needsRefetch.current = true;
        // A stream does not tell why it ended. The session shows whether the gateway is down or the session is over.
        void queryClient.invalidateQueries({ queryKey: SESSION_QUERY_KEY });
      }
    };
    const connect = (): (() => void) => subscribeToEvents(`${API}/events`, handleEvent);
    let disconnect = connect();
    // The browser may keep this page for the back button. Meanwhile it must not hold a connection.
    const handlePageHide = (): void => {
      disconnect();
      needsRefetch.current = true;
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
