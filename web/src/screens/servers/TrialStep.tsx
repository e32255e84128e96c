/** Step two: each server is started once, apart from the board, and shows its tools. */
import type { ReactElement, ReactNode } from "react";
import { formatNumber } from "@/lib/format";
import { Button, Checkbox, Notice, Skeleton, StateLabel, ErrorMessage } from "@/components";
import { CandidateSummary } from "./SourceStep";
import { OfferedTools } from "./OfferedTools";
import type { Candidate } from "./candidates";

export function TrialStep({
  candidates,
  updateCandidate,
  onRetry,
  actions,
}: {
  candidates: readonly Candidate[];
  updateCandidate: (key: string, change: Partial<Candidate>) => void;
  onRetry: (candidate: Candidate) => void;
  actions: ReactNode;
}): ReactElement {
  return (
    <div className="stack wide">
      {candidates.map((candidate) => (
        <section key={candidate.key} className="sheet stack" aria-label={candidate.parsed.name} aria-busy={candidate.isTrying}>
          <div className="row apart">
            <CandidateSummary server={{ ...candidate.parsed, problems: [] }} />
            {!candidate.isTrying && (
              <Button small icon="refresh" onClick={() => onRetry(candidate)}>
                Try again
              </Button>
            )}
          </div>
          <TrialOutcome candidate={candidate} />
          {!candidate.isTrying && candidates.length + (candidate.trial?.state === "failed" ? 1 : 0) > 1 && (
            <Checkbox label="Add this one" checked={candidate.isSelected} onChange={(wanted) => updateCandidate(candidate.key, { isSelected: wanted })} />
          )}
        </section>
      ))}
      <p className="muted small">Nothing is saved yet, and what was started has ended again.</p>
      <div className="row">{actions}</div>
    </div>
  );
}

function TrialOutcome({ candidate }: { candidate: Candidate }): ReactElement {
  if (candidate.isTrying) {
    return (
      <div role="status" className="stack wraps-mark">
        <StateLabel state="locked">It starts once, to see what it lists …</StateLabel>
        <Skeleton lines={4} height={32} />
      </div>
    );
  }
  const { trial } = candidate;
  if (trial === null) return <ErrorMessage error={candidate.error ?? new Error("It was not tried.")} />;
  return (
    <div className="stack">
      {trial.state === "failed" ? (
        <ErrorMessage error={new Error(trial.message)} />
      ) : trial.state === "needs_sign_in" ? (
        <Notice tone="needs_action">{trial.message}</Notice>
      ) : (
        <p role="status" className="wraps-mark">
          <StateLabel state="open">{trial.message}</StateLabel>
        </p>
      )}
      {trial.warnings.map((warning) => (
        <Notice key={warning} tone="needs_action">
          <span className="wrap-any">{warning}</span>
        </Notice>
      ))}
      <OfferedTools tools={trial.tools} problems={trial.problems} logLines={trial.state === "answered" ? [] : trial.logTail} />
      {trial.tools.length > 1 && <p className="muted small">{formatNumber(trial.tokens)} tokens in all. A click on a tool shows its own words.</p>}
    </div>
  );
}
