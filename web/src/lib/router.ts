/** The router: a path under /ui and the query. All filters are in the URL. */
import { useCallback, useSyncExternalStore } from "react";

export const BASE_PATH = "/ui";

export type RouteLocation = { readonly path: string; readonly query: URLSearchParams };
export type Query = Readonly<Record<string, string | number | boolean | readonly string[] | null | undefined>>;

const listeners = new Set<() => void>();
let currentLocation: RouteLocation = readLocation();
let flushTimer: ReturnType<typeof setTimeout> | undefined;

function readLocation(): RouteLocation {
  if (typeof location === "undefined") return { path: "/", query: new URLSearchParams() };
  const path = location.pathname.startsWith(BASE_PATH) ? location.pathname.slice(BASE_PATH.length) : location.pathname;
  return { path: path === "" ? "/" : path, query: new URLSearchParams(location.search) };
}

function setLocation(location: RouteLocation): void {
  currentLocation = location;
  for (const listener of listeners) listener();
}

/** A query string without empty values; a list becomes one parameter several times. */
export function queryString(query: Query | URLSearchParams): string {
  if (query instanceof URLSearchParams) return query.size ? `?${query}` : "";
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || value === null || value === "" || value === false) continue;
    if (Array.isArray(value)) for (const each of value as readonly string[]) params.append(name, each);
    else params.set(name, String(value));
  }
  return params.size ? `?${params}` : "";
}

/** The URL of a screen: `pageUrl("/tool", { id })`. */
export function pageUrl(path: string, query: Query | URLSearchParams = {}): string {
  return `${BASE_PATH}${path}${queryString(query)}`;
}

function flush(): void {
  if (flushTimer === undefined) return;
  clearTimeout(flushTimer);
  flushTimer = undefined;
  history.replaceState(history.state, "", pageUrl(currentLocation.path, currentLocation.query));
}

/** Navigates to a screen. It adds a history entry, or replaces the current one with `replace`. */
export function navigate(path: string, query: Query | URLSearchParams = {}, replace = false): void {
  flush();
  const url = pageUrl(path, query);
  if (replace) history.replaceState(null, "", url);
  else history.pushState(null, "", url);
  setLocation({ path, query: new URLSearchParams(queryString(query)) });
}

const HISTORY_WINDOW_MS = 10_000;
/** Up to this many writes per window go to the URL at once. Browsers limit them, some to 100 in 30 s. */
const MAX_WRITES_PER_WINDOW = 30;
let recentWrites: readonly number[] = [];

/** Changes the query. The page and the URL update at once, so that a reload finds both; during fast typing the URL
 * follows a moment later. */
export function updateQuery(change: (query: URLSearchParams) => void): void {
  const query = new URLSearchParams(currentLocation.query);
  change(query);
  setLocation({ path: currentLocation.path, query });
  clearTimeout(flushTimer);
  flushTimer = setTimeout(flush, 150);
  const now = performance.now();
  recentWrites = recentWrites.filter((writtenAt) => now - writtenAt < HISTORY_WINDOW_MS);
  if (recentWrites.length >= MAX_WRITES_PER_WINDOW) return;
  recentWrites = [...recentWrites, now];
  flush();
}

if (typeof window !== "undefined") {
  addEventListener("popstate", () => {
    clearTimeout(flushTimer);
    flushTimer = undefined;
    setLocation(readLocation());
  });
  addEventListener("pagehide", flush);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** The current location, for callbacks that run later than the render that created them. */
export function getLocation(): RouteLocation {
  return currentLocation;
}

export function useRouteLocation(): RouteLocation {
  return useSyncExternalStore(subscribe, () => currentLocation);
}

export function usePath(): string {
  return useSyncExternalStore(subscribe, () => currentLocation.path);
}

/** One query parameter and its setter. The fallback value is not written to the URL. */
export function useParam(name: string, fallback = ""): readonly [string, (value: string) => void] {
  const value = useSyncExternalStore(subscribe, () => currentLocation.query.get(name) ?? fallback);
  const set = useCallback(
    (next: string) =>
      updateQuery((query) => {
        if (next === fallback || next === "") query.delete(name);
        else query.set(name, next);
      }),
    [name, fallback],
  );
  return [value, set];
}

/** A parameter with several values: `?state=open&state=needs_action`. */
export function useListParam(name: string): readonly [readonly string[], (value: readonly string[]) => void] {
  const text = useSyncExternalStore(subscribe, () => currentLocation.query.getAll(name).join("\n"));
  const set = useCallback(
    (next: readonly string[]) =>
      updateQuery((query) => {
        query.delete(name);
        for (const each of next) query.append(name, each);
      }),
    [name],
  );
  return [text === "" ? [] : text.split("\n"), set];
}

/** A boolean parameter: `?follow=1`. */
export function useFlagParam(name: string): readonly [boolean, (value: boolean) => void] {
  const [value, set] = useParam(name);
  return [value !== "", useCallback((next: boolean) => set(next ? "1" : ""), [set])];
}
