/**
 * One event stream for all pages of this browser.
 *
 * A browser has six connections to a gateway for all of its tabs together, and a stream holds one for good. So one page
 * has the stream, which is whoever holds the lock, and tells the others what it hears. When it goes, the next one in the
 * queue has it. A page that does not answer, since its browser put it to sleep, loses it to the one that asks.
 * Where a browser offers no locks, which is on an address without TLS that is not this machine, each page has its own.
 */
import type { Noun } from "./answers";

export type Line = "opening" | "live" | "lost";
/** What a page hears: how the line is, or which noun changed. */
export type Heard = { line: Line } | { noun: Noun };
type Told = Heard | { asked: true };
type Hear = (heard: Heard) => void;

const NAME = "pegboard events";
/** Tries again after an answer that is no stream; after a lost line a browser does so by itself. */
const PAUSE = 3000;
/** How long the page that has the stream may take to answer another. */
const PATIENCE = 3000;
/** How often a page in sight asks whether the stream is still somebody's. */
const OFTEN = 10_000;

/** Listens until the function that it gives back is called. */
export function listen(address: string, hear: Hear): () => void {
  return "locks" in navigator && "BroadcastChannel" in window ? together(address, hear) : alone(address, hear);
}

/** A stream of one's own. */
function alone(address: string, hear: Hear): () => void {
  let again: ReturnType<typeof setTimeout> | undefined;
  let source: EventSource;
  const open = (): void => {
    source = new EventSource(address);
    source.addEventListener("hello", () => hear({ line: "live" }));
    source.addEventListener("bell", (event) => {
      const { noun } = JSON.parse((event as MessageEvent<string>).data) as { noun: Noun };
      hear({ noun });
    });
    source.onerror = () => {
      hear({ line: "lost" });
      if (source.readyState === EventSource.CLOSED) again = setTimeout(open, PAUSE);
    };
  };
  open();
  return () => {
    clearTimeout(again);
    source.close();
  };
}

function together(address: string, hear: Hear): () => void {
  const channel = new BroadcastChannel(NAME);
  let line: Line = "opening";
  /** Gives the stream and its lock away; only who has them has it. */
  let close: (() => void) | undefined;
  let waiting = new AbortController();
  let turn = 0;
  let patience: ReturnType<typeof setTimeout> | undefined;

  const tell = (told: Told): void => channel.postMessage(told);
  const heard = (told: Heard): void => {
    if ("line" in told) line = told.line;
    hear(told);
  };
  const both = (told: Heard): void => {
    heard(told);
    tell(told);
  };

  const hold = (): Promise<void> =>
    new Promise((release) => {
      clearTimeout(patience);
      // What rings between two streams is heard by nobody.
      if (line !== "opening") both({ line: "opening" });
      const stop = alone(address, both);
      close = () => {
        close = undefined;
        stop();
        release();
      };
    });
  const take = (steal: boolean): void => {
    const mine = ++turn;
    waiting.abort();
    waiting = new AbortController();
    navigator.locks.request(NAME, steal ? { steal } : { signal: waiting.signal }, hold).catch(() => {
      if (mine !== turn) return;
      // Another page took the stream, since this one was asleep: it waits for its turn again.
      close?.();
      take(false);
    });
  };

  channel.onmessage = ({ data: told }: MessageEvent<Told>) => {
    if ("asked" in told) {
      if (close !== undefined) tell({ line });
      return;
    }
    clearTimeout(patience);
    if (close === undefined) heard(told);
  };
  const ask = (): void => {
    if (close !== undefined || document.hidden) return;
    clearTimeout(patience);
    patience = setTimeout(() => take(true), PATIENCE);
    tell({ asked: true });
  };
  document.addEventListener("visibilitychange", ask);
  const often = setInterval(ask, OFTEN);
  take(false);
  ask();

  return () => {
    document.removeEventListener("visibilitychange", ask);
    clearInterval(often);
    clearTimeout(patience);
    turn += 1;
    waiting.abort();
    close?.();
    channel.close();
  };
}
