/** HTTP access to the gateway: `request` returns the JSON of a route or throws a `Problem`. */
import { queryString, type Query } from "@/lib/router";
import { Problem, parseProblem, UNREACHABLE_MESSAGE } from "./problem";

export const API = "/api/v1";

export type RequestOptions = {
  readonly method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly query?: Query;
  /** Sent as JSON, unless it is a file. */
  readonly body?: unknown;
  /** The policy version the write is based on; sent as If-Match. */
  readonly version?: number | null;
  readonly signal?: AbortSignal;
};

/** The URL of a route: `apiUrl("/board", { as: "ci" })`. */
export function apiUrl(path: string, query: Query = {}): string {
  return `${API}${path}${queryString(query)}`;
}

export async function requestText(path: string, options: RequestOptions = {}): Promise<string> {
  const headers: Record<string, string> = { accept: "application/json" };
  let body: BodyInit | undefined;
  if (options.body instanceof Blob || options.body instanceof FormData) {
    body = options.body;
  } else if (options.body !== undefined) {
    headers["content-type"] = "application/json";
    body = JSON.stringify(options.body);
  }
  if (options.version !== undefined && options.version !== null) headers["if-match"] = `"${options.version}"`;
  let response: Response;
  try {
    response = await fetch(apiUrl(path, options.query), {
      method: options.method ?? "GET",
      headers,
      credentials: "same-origin",
      cache: "no-store",
      ...(body === undefined ? {} : { body }),
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    });
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw new Problem(0, UNREACHABLE_MESSAGE);
  }
  const text = await response.text();
  if (!response.ok) throw parseProblem(response.status, text);
  return text;
}

export async function request<T>(path: string, options: RequestOptions = {}): Promise<T> {
  const text = await requestText(path, options);
  return (text === "" ? null : JSON.parse(text)) as T;
}
