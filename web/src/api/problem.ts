/** What went wrong, in one shape whatever it was. */

export class Problem extends Error {
  readonly status: number;
  /** One sentence each where several things are wrong. */
  readonly errors: readonly string[];
  /** The policy's version now, where the one we stood on is old. */
  readonly policyVersion: number | null;
  readonly body: unknown;

  constructor(status: number, detail: string, body: unknown = null) {
    super(detail);
    this.name = "Problem";
    this.status = status;
    this.body = body;
    const told = record(body);
    this.errors = Array.isArray(told["errors"]) ? told["errors"].map(String) : [];
    this.policyVersion = typeof told["policyVersion"] === "number" ? told["policyVersion"] : null;
  }

  /** Somebody decided something since the page was read. */
  get isStale(): boolean {
    return this.status === 412;
  }

  get isSignedOut(): boolean {
    return this.status === 401;
  }
}

export const UNREACHED = "The gateway does not answer. If it was stopped, start it again: pegboard serve";

function record(body: unknown): Record<string, unknown> {
  return typeof body === "object" && body !== null ? (body as Record<string, unknown>) : {};
}

/** From an answer that is no success. */
export function problemOf(status: number, text: string): Problem {
  let body: unknown = null;
  try {
    body = JSON.parse(text);
  } catch {
    // Not ours then: something between here and the gateway answered.
  }
  const told = record(body);
  const detail = typeof told["detail"] === "string" ? told["detail"] : "";
  const title = typeof told["title"] === "string" ? told["title"] : "";
  return new Problem(status, detail || title || `The gateway answered ${status} without a word.`, body);
}

/** The sentence of anything that was thrown. */
export function sentence(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
