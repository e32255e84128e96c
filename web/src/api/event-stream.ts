/**
 * One event stream for all tabs of this browser.
 *
 * A browser opens at most six connections to a gateway for all of its tabs, and a stream holds one permanently. So one
 * tab, the one that holds the lock, has the stream and passes its events on to the others. When it closes, the next
 * tab in the queue gets the lock. A tab that does not respond, because the browser suspended it, loses the lock to the
 * tab that pinged it. Without the Web Locks API (on an address without TLS that is not localhost) each tab has its own
 * stream.
 */
import type { Topic } from "./queries";

export type ConnectionStatus = "opening" | "live" | "lost";
/** What a tab receives: the connection's status, or the topic that changed. */
export type FeedEvent = { status: ConnectionStatus } | { topic: Topic };
type ChannelMessage = FeedEvent | { ping: true };
type FeedListener = (event: FeedEvent) => void;

/** Change it when the messages change: tabs of two versions must not share a stream. */
const CHANNEL_NAME = "pegboard change feed";
/** Reconnect after a response that is no stream. After a lost connection the browser reconnects by itself. */
const RECONNECT_DELAY_MS = 3000;
/** How long the tab with the stream may take to respond to a ping. */
const PING_TIMEOUT_MS = 3000;
/** How often a visible tab checks that some tab still has the stream. */
const PING_INTERVAL_MS = 10_000;

/** Subscribes until the returned function is called. */
export function subscribeToEvents(url: string, onEvent: FeedListener): () => void {
  return "locks" in navigator && "BroadcastChannel" in window ? openSharedStream(url, onEvent) : openOwnStream(url, onEvent);
}

/** A stream for this tab alone. */
function openOwnStream(url: string, onEvent: FeedListener): () => void {
  let reconnectTimer: ReturnType<typeof setTimeout> | undefined;
  let source: EventSource;
  const open = (): void => {
    source = new EventSource(url);
    source.addEventListener("hello", () => onEvent({ status: "live" }));
    source.addEventListener("changed", (event) => {
      const { topic } = JSON.parse((event as MessageEvent<string>).data) as { topic: Topic };
      onEvent({ topic });
    });
    source.onerror = () => {
      onEvent({ status: "lost" });
      if (source.readyState === EventSource.CLOSED) reconnectTimer = setTimeout(open, RECONNECT_DELAY_MS);
    };
  };
  open();
  return () => {
    clearTimeout(reconnectTimer);
    source.close();
  };
}

function openSharedStream(url: string, onEvent: FeedListener): () => void {
  const channel = new BroadcastChannel(CHANNEL_NAME);
  let status: ConnectionStatus = "opening";
  /** Closes the stream and releases the lock; set only in the tab that holds them. */
  let releaseStream: (() => void) | undefined;
  let lockRequest = new AbortController();
  let attempts = 0;
  let pingTimeout: ReturnType<typeof setTimeout> | undefined;

  const post = (message: ChannelMessage): void => channel.postMessage(message);
  const handle = (event: FeedEvent): void => {
    if ("status" in event) status = event.status;
    onEvent(event);
  };
  const broadcast = (event: FeedEvent): void => {
    handle(event);
    post(event);
  };

  const holdStream = (): Promise<void> =>
    new Promise((release) => {
      clearTimeout(pingTimeout);
      // Nobody received the events between two streams.
      if (status !== "opening") broadcast({ status: "opening" });
      const closeSource = openOwnStream(url, broadcast);
      releaseStream = () => {
        releaseStream = undefined;
        closeSource();
        release();
      };
    });
  const acquireStream = (steal: boolean): void => {
    const attempt = ++attempts;
    lockRequest.abort();
    lockRequest = new AbortController();
    navigator.locks.request(CHANNEL_NAME, steal ? { steal } : { signal: lockRequest.signal }, holdStream).catch(() => {
      if (attempt !== attempts) return;
      // Another tab took the lock while this one was suspended: queue for it again.
      releaseStream?.();
      acquireStream(false);
    });
  };

  channel.onmessage = ({ data: message }: MessageEvent<ChannelMessage>) => {
    if ("ping" in message) {
      if (releaseStream !== undefined) post({ status });
      return;
    }
    clearTimeout(pingTimeout);
    if (releaseStream === undefined) handle(message);
  };
  const ping = (): void => {
    if (releaseStream !== undefined || document.hidden) return;
    clearTimeout(pingTimeout);
    pingTimeout = setTimeout(() => acquireStream(true), PING_TIMEOUT_MS);
    post({ ping: true });
  };
  document.addEventListener("visibilitychange", ping);
  const pingTimer = setInterval(ping, PING_INTERVAL_MS);
  acquireStream(false);
  ping();

  return () => {
    document.removeEventListener("visibilitychange", ping);
    clearInterval(pingTimer);
    clearTimeout(pingTimeout);
    attempts += 1;
    lockRequest.abort();
    releaseStream?.();
    channel.close();
  };
}
