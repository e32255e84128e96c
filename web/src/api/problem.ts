/** Every failed request as one class. */

export class Problem extends Error {
  readonly status: number;
  /** One message each, if several things are wrong. */
  readonly errors: readonly string[];
  /** The current policy version, if the request was based on an older one. */
  readonly policyVersion: number | null;
  readonly body: unknown;

  constructor(status: number, detail: string, body: unknown = null) {
    super(detail);
    this.name = "Problem";
    this.status = status;
    this.body = body;
    const fields = asRecord(body);
    this.errors = Array.isArray(fields["errors"]) ? fields["errors"].map(String) : [];
    this.policyVersion = typeof fields["policyVersion"] === "number" ? fields["policyVersion"] : null;
  }

  /** Someone else made a decision since the data was fetched. */
  get isStale(): boolean {
    return this.status === 412;
  }

  get isSignedOut(): boolean {
    return this.status === 401;
  }
}

export const UNREACHABLE_MESSAGE = "The gateway does not answer. If it was stopped, start it again: pegboard serve";

function asRecord(body: unknown): Record<string, unknown> {
  return typeof body === "object" && body !== null ? (body as Record<string, unknown>) : {};
}

/** Parses an error response. */
export function parseProblem(status: number, text: string): Problem {
  let body: unknown = null;
  try {
    body = JSON.parse(text);
  } catch {
    // Not from the gateway then: a proxy in between responded.
  }
  const fields = asRecord(body);
  const detail = typeof fields["detail"] === "string" ? fields["detail"] : "";
  const title = typeof fields["title"] === "string" ? fields["title"] : "";
  return new Problem(status, detail || title || `The gateway answered ${status} without a word.`, body);
}

/** The message of anything that was thrown. */
export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
