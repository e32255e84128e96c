/**
 * One event stream for all pages of this browser.
 *
 * A browser has six connections to a gateway for all of its tabs together, and a stream holds one for good. So one page
 * has the stream, which is whoever holds the lock, and tells the others what it hears. When it goes, the next one in the
 * queue has it. A page that does not answer, since its browser put it to sleep, loses it to the one that asks.
 * Where a browser offers no locks, which is on an address without TLS that is not this machine, each page has its own.
 */
import type { Topic } from "./queries";

export type ConnectionStatus = "opening" | "live" | "lost";
/** What a page hears: how the line is, or which noun changed. */
export type FeedEvent = { status: ConnectionStatus } | { topic: Topic };
type ChannelMessage = FeedEvent | { ping: true };
type FeedListener = (event: FeedEvent) => void;

const CHANNEL_NAME = "pegboard events";
/** Tries again after an answer that is no stream; after a lost line a browser does so by itself. */
const RECONNECT_DELAY_MS = 3000;
/** How long the page that has the stream may take to answer another. */
const PING_TIMEOUT_MS = 3000;
/** How often a page in sight asks whether the stream is still somebody's. */
const PING_INTERVAL_MS = 10_000;

/** Listens until the function that it gives back is called. */
export function subscribeToEvents(address: string, onEvent: FeedListener): () => void {
  return "locks" in navigator && "BroadcastChannel" in window ? openSharedStream(address, onEvent) : openOwnStream(address, onEvent);
}

/** A stream of one's own. */
function openOwnStream(address: string, onEvent: FeedListener): () => void {
  let reconnectTimer: ReturnType<typeof setTimeout> | undefined;
  let source: EventSource;
  const open = (): void => {
    source = new EventSource(address);
    source.addEventListener("hello", () => onEvent({ status: "live" }));
    source.addEventListener("bell", (event) => {
      const { noun } = JSON.parse((event as MessageEvent<string>).data) as { noun: Topic };
      onEvent({ topic: noun });
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

function openSharedStream(address: string, onEvent: FeedListener): () => void {
  const channel = new BroadcastChannel(CHANNEL_NAME);
  let status: ConnectionStatus = "opening";
  /** Gives the stream and its lock away; only who has them has it. */
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
      // What rings between two streams is heard by nobody.
      if (status !== "opening") broadcast({ status: "opening" });
      const closeSource = openOwnStream(address, broadcast);
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
      // Another page took the stream, since this one was asleep: it waits for its turn again.
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
