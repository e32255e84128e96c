/** Where the page is: a path under /ui and what stands behind the question mark. The address holds every filter. */
import { useCallback, useSyncExternalStore } from "react";

export const BASE = "/ui";

export type Place = { readonly path: string; readonly query: URLSearchParams };
export type Query = Readonly<Record<string, string | number | boolean | readonly string[] | null | undefined>>;

const listeners = new Set<() => void>();
let here: Place = read();
let writing: ReturnType<typeof setTimeout> | undefined;

function read(): Place {
  if (typeof location === "undefined") return { path: "/", query: new URLSearchParams() };
  const path = location.pathname.startsWith(BASE) ? location.pathname.slice(BASE.length) : location.pathname;
  return { path: path === "" ? "/" : path, query: new URLSearchParams(location.search) };
}

function tell(place: Place): void {
  here = place;
  for (const listener of listeners) listener();
}

/** The query as it stands in an address: without what is empty, lists as one name several times. */
export function queryText(query: Query | URLSearchParams): string {
  if (query instanceof URLSearchParams) return query.size ? `?${query}` : "";
  const found = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || value === null || value === "" || value === false) continue;
    if (Array.isArray(value)) for (const each of value as readonly string[]) found.append(name, each);
    else found.set(name, String(value));
  }
  return found.size ? `?${found}` : "";
}

/** The address of a place: `address("/tool", { id })`. */
export function address(path: string, query: Query | URLSearchParams = {}): string {
  return `${BASE}${path}${queryText(query)}`;
}

function flush(): void {
  if (writing === undefined) return;
  clearTimeout(writing);
  writing = undefined;
  history.replaceState(history.state, "", address(here.path, here.query));
}

/** Go to a place; it becomes an entry of the history unless it `replaces` the one that is there. */
export function go(path: string, query: Query | URLSearchParams = {}, replaces = false): void {
  flush();
  const next = address(path, query);
  if (replaces) history.replaceState(null, "", next);
  else history.pushState(null, "", next);
  tell({ path, query: new URLSearchParams(queryText(query)) });
}

const SPELL = 10_000;
/** So often within it the address is written at once. Browsers bound how often it may change: some at 100 in 30 s. */
const OFTEN = 30;
let written: readonly number[] = [];

/** Change what stands behind the question mark. Page and address follow at once, so that a reload finds both; who types
 * on and on has the address a moment later. */
export function amend(change: (query: URLSearchParams) => void): void {
  const query = new URLSearchParams(here.query);
  change(query);
  tell({ path: here.path, query });
  clearTimeout(writing);
  writing = setTimeout(flush, 150);
  const now = performance.now();
  written = written.filter((at) => now - at < SPELL);
  if (written.length >= OFTEN) return;
  written = [...written, now];
  flush();
}

if (typeof window !== "undefined") {
  addEventListener("popstate", () => {
    clearTimeout(writing);
    writing = undefined;
    tell(read());
  });
  addEventListener("pagehide", flush);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Where the page is now, for what runs later than the render that planned it. */
export function currentPlace(): Place {
  return here;
}

export function usePlace(): Place {
  return useSyncExternalStore(subscribe, () => here);
}

export function usePath(): string {
  return useSyncExternalStore(subscribe, () => here.path);
}

/** One parameter of the address, and how to change it. What equals the fallback is not written. */
export function useParam(name: string, fallback = ""): readonly [string, (value: string) => void] {
  const value = useSyncExternalStore(subscribe, () => here.query.get(name) ?? fallback);
  const set = useCallback(
    (next: string) =>
      amend((query) => {
        if (next === fallback || next === "") query.delete(name);
        else query.set(name, next);
      }),
    [name, fallback],
  );
  return [value, set];
}

/** A parameter with several values: `?state=open&state=wants`. */
export function useListParam(name: string): readonly [readonly string[], (value: readonly string[]) => void] {
  const text = useSyncExternalStore(subscribe, () => here.query.getAll(name).join("\n"));
  const set = useCallback(
    (next: readonly string[]) =>
      amend((query) => {
        query.delete(name);
        for (const each of next) query.append(name, each);
      }),
    [name],
  );
  return [text === "" ? [] : text.split("\n"), set];
}

/** Yes or no: `?follow=1`. */
export function useFlagParam(name: string): readonly [boolean, (value: boolean) => void] {
  const [value, set] = useParam(name);
  return [value !== "", useCallback((next: boolean) => set(next ? "1" : ""), [set])];
}
