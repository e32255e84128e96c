/** Servers that were selected to be added, and the request for each. */
import type { ParsedServer, ServerTrial, Trust } from "@/api/servers";

/** Where the configuration is. It is named and not sent, so that its secrets stay there. */
export type CandidateSource = { readonly text: string } | { readonly client: string };

export type Candidate = {
  readonly key: string;
  readonly source: CandidateSource;
  readonly parsed: ParsedServer;
  /** Its id on the board, and its toolset; empty for a toolset of its own. */
  readonly id: string;
  readonly toolset: string;
  readonly isTrying: boolean;
  readonly trial: ServerTrial | null;
  readonly error: unknown;
  readonly isSelected: boolean;
  readonly isAdded: boolean;
};

export function createCandidate(source: CandidateSource, parsed: ParsedServer): Candidate {
  const key = `${"client" in source ? source.client : ""}\n${parsed.name}`;
  return { key, source, parsed, id: parsed.name, toolset: "", isTrying: false, trial: null, error: null, isSelected: true, isAdded: false };
}

export function isSelected(candidate: Candidate): boolean {
  return candidate.isSelected;
}

type AddServerBody = {
  readonly id: string;
  readonly from: CandidateSource & { readonly server: string };
  readonly toolset?: string;
  readonly trust?: Trust;
  readonly baseline?: string;
};

/** Without a trust level it is only tried. With the baseline level, the tools that were shown count as seen. */
export function requestBody(candidate: Candidate, trust?: Trust): AddServerBody {
  const baseline = trust === "baseline" ? candidate.trial?.baseline : null;
  return {
    id: candidate.id.trim(),
    from: { ...candidate.source, server: candidate.parsed.name },
    ...(candidate.toolset.trim() === "" ? {} : { toolset: candidate.toolset.trim() }),
    ...(trust === undefined ? {} : { trust }),
    ...(baseline == null ? {} : { baseline }),
  };
}
