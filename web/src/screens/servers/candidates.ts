/** Servers that somebody picked to add, and what is sent for each. */
import type { ParsedServer, ServerTrial, Trust } from "@/api/servers";

/** Where it stands: named, so that what is secret in it stays there. */
export type CandidateSource = { readonly text: string } | { readonly client: string };

export type Candidate = {
  readonly key: string;
  readonly source: CandidateSource;
  readonly parsed: ParsedServer;
  /** Its id here, and the toolset that it joins; empty for one of its own. */
  readonly id: string;
  readonly toolset: string;
  readonly trying: boolean;
  readonly trial: ServerTrial | null;
  readonly error: unknown;
  readonly wanted: boolean;
  readonly added: boolean;
};

export function createCandidate(source: CandidateSource, parsed: ParsedServer): Candidate {
  const key = `${"client" in source ? source.client : ""}\n${parsed.name}`;
  return { key, source, parsed, id: parsed.name, toolset: "", trying: false, trial: null, error: null, wanted: true, added: false };
}

export function isWanted(candidate: Candidate): boolean {
  return candidate.wanted;
}

type AddServerBody = {
  readonly id: string;
  readonly from: CandidateSource & { readonly server: string };
  readonly toolset?: string;
  readonly trust?: Trust;
  readonly seen?: string;
};

/** Without a trust it is only tried. What was shown counts as seen where first sight opens tools. */
export function requestBody(candidate: Candidate, trust?: Trust): AddServerBody {
  const seen = trust === "baseline" ? candidate.trial?.seen : null;
  return {
    id: candidate.id.trim(),
    from: { ...candidate.source, server: candidate.parsed.name },
    ...(candidate.toolset.trim() === "" ? {} : { toolset: candidate.toolset.trim() }),
    ...(trust === undefined ? {} : { trust }),
    ...(seen == null ? {} : { seen }),
  };
}
