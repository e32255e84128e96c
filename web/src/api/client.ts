/** The one way to the gateway: `ask` for every route, with the answer or a `Problem`. */
import { queryText, type Query } from "@/lib/place";
import { Problem, problemOf, UNREACHED } from "./problem";

export const API = "/api/v1";

export type Asking = {
  readonly method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly query?: Query;
  /** Sent as JSON, unless it is a file. */
  readonly body?: unknown;
  /** The policy version that was looked at. */
  readonly version?: number | null;
  readonly signal?: AbortSignal;
};

/** The address of a route: `route("/board", { as: "ci" })`. */
export function route(path: string, query: Query = {}): string {
  return `${API}${path}${queryText(query)}`;
}

export async function askText(path: string, asking: Asking = {}): Promise<string> {
  const headers: Record<string, string> = { accept: "application/json" };
  let body: BodyInit | undefined;
  if (asking.body instanceof Blob || asking.body instanceof FormData) {
    body = asking.body;
  } else if (asking.body !== undefined) {
    headers["content-type"] = "application/json";
    body = JSON.stringify(asking.body);
  }
  if (asking.version !== undefined && asking.version !== null) headers["if-match"] = `"${asking.version}"`;
  let answer: Response;
  try {
    answer = await fetch(route(path, asking.query), {
      method: asking.method ?? "GET",
      headers,
      credentials: "same-origin",
      cache: "no-store",
      ...(body === undefined ? {} : { body }),
      ...(asking.signal === undefined ? {} : { signal: asking.signal }),
    });
  } catch (error) {
    if (asking.signal?.aborted) throw error;
    throw new Problem(0, UNREACHED);
  }
  const text = await answer.text();
  if (!answer.ok) throw problemOf(answer.status, text);
  return text;
}

export async function ask<T>(path: string, asking: Asking = {}): Promise<T> {
  const text = await askText(path, asking);
  return (text === "" ? null : JSON.parse(text)) as T;
}
