/** Step three: its id, its toolset, and when its tools wait for a person. */
import { useId, type ReactElement, type ReactNode } from "react";
import { useToolsets, type Trust } from "@/api/servers";
import { Field, Notice, ErrorMessage } from "@/components";
import type { Candidate } from "./candidates";
import { TrustChoice } from "./TrustChoice";

export function TrustStep({
  candidates,
  updateCandidate,
  trust,
  setTrust,
  actions,
}: {
  candidates: readonly Candidate[];
  updateCandidate: (key: string, change: Partial<Candidate>) => void;
  trust: Trust;
  setTrust: (trust: Trust) => void;
  actions: ReactNode;
}): ReactElement {
  const list = useId();
  const toolsets = useToolsets().data?.toolsets ?? [];
  return (
    <div className="stack wide add-trust">
      <section className="sheet">
        <h2>When its tools wait for you</h2>
        <TrustChoice value={trust} onChange={setTrust} />
      </section>
      {candidates.map((candidate) => (
        <section key={candidate.key} className="sheet stack" aria-label={candidate.parsed.name}>
          <h2 className="wrap-any">{candidate.parsed.name}</h2>
          <div className="thirds">
            <Field label="Id" mono value={candidate.id} onChange={(id) => updateCandidate(candidate.key, { id })} hint="Small letters, digits, - and _. It is part of every tool's id." />
            <Field
              label="Toolset"
              mono
              value={candidate.toolset}
              onChange={(toolset) => updateCandidate(candidate.key, { toolset })}
              list={list}
              placeholder={candidate.id}
              hint="Empty: one of its own, shown under MCP Servers."
            />
          </div>
          {candidate.trial?.existingOrigin != null && (
            <Notice tone="needs_action">
              <span className="wrap-any">A server of this id is on the board already ({candidate.trial.existingOrigin}). Give this one another id.</span>
            </Notice>
          )}
          {candidate.isAdded && <Notice tone="open">It is added.</Notice>}
          {candidate.error !== null && <ErrorMessage error={candidate.error} />}
        </section>
      ))}
      <datalist id={list}>
        {toolsets.map((toolset) => (
          <option key={toolset.id} value={toolset.id} />
        ))}
      </datalist>
      <div className="row">{actions}</div>
    </div>
  );
}
