/** The review of one tool: what is new or changed, what looks wrong, and the decision. */
import { useEffect, useRef, useState, type ReactElement } from "react";
import { useApiQuery, useApiMutation } from "@/api/queries";
import { useHasScope } from "@/api/session";
import { useVersionGuard } from "@/api/version-guard";
import { QueryResult, Button, Dialog, Json, Link, ConcurrentChangeNotice, Notice, VisibleText, SectionDiff, Skeleton, Tag, TextArea, Time } from "@/components";
import type { Finding, ToolReviewResponse } from "./types";

export function ToolReview({ id, onContinue }: { id: string; onContinue: () => void }): ReactElement {
  const response = useApiQuery<ToolReviewResponse>(["approvals", "board", "policy"], "/approvals/show", { tool: id }, { keepPrevious: false });
  return (
    <QueryResult query={response} placeholder={<Skeleton lines={12} height={24} />}>
      {(tool) => (
        <div className="stack">
          <ToolDifference tool={tool} />
          <ApprovalDecision tool={tool} onContinue={onContinue} />
        </div>
      )}
    </QueryResult>
  );
}

export function ToolDifference({ tool }: { tool: ToolReviewResponse }): ReactElement {
  return (
    <article className="stack review" aria-label={`Review of ${tool.name}`}>
      <header>
        <div className="row">
          <h2 className="mono wrap-any">{tool.name}</h2>
          <Tag tone="needs_action">{tool.kind}</Tag>
        </div>
        <Link to="/tool" query={{ id: tool.id }} className="mono small wrap-any">
          {tool.id}
        </Link>
        {tool.since !== null && (
          <p className="muted small">
            Waits <Time at={tool.since} elapsed />
          </p>
        )}
        {tool.approval !== null && (
          <p className="muted small">
            Last approved {tool.approval.firstSight ? "at first sight" : `by ${tool.approval.by}`} <Time at={tool.approval.at ?? ""} />
          </p>
        )}
      </header>
      {tool.block !== null && <Notice tone="plain">{tool.block.message}</Notice>}
      <Findings findings={tool.findings} cautions={tool.cautions} />
      {tool.difference.length > 0 ? (
        tool.difference.map((section) => <SectionDiff key={section.section} section={section} />)
      ) : (
        <FullDefinition tool={tool} />
      )}
    </article>
  );
}

function Findings({ findings, cautions }: { findings: readonly Finding[]; cautions: readonly string[] }): ReactElement | null {
  if (findings.length === 0 && cautions.length === 0) return null;
  return (
    <ul className="stack tight" aria-label="What to look at">
      {findings.map((finding) => (
        <li key={`${finding.path} ${finding.message}`}>
          <Notice tone="needs_action">
            <b>{finding.severity === "hard" ? "Looks poisoned" : "Look closely"}:</b> <VisibleText text={finding.message} />{" "}
            {finding.excerpt !== "" && (
              <code className="wrap-any">
                <VisibleText text={finding.excerpt} />
              </code>
            )}{" "}
            <span className="muted small mono wrap-any">
              in <VisibleText text={finding.path} />
            </span>
          </Notice>
        </li>
      ))}
      {cautions.map((caution) => (
        <li key={caution}>
          <Notice tone="needs_action">
            <VisibleText text={caution} />
          </Notice>
        </li>
      ))}
    </ul>
  );
}

/** A tool that was never approved is shown in full. */
function FullDefinition({ tool }: { tool: ToolReviewResponse }): ReactElement {
  return (
    <>
      <section>
        <h3>Description</h3>
        <p className="prewrap wrap-any">{tool.description === "" ? <span className="muted">none</span> : <VisibleText text={tool.description} />}</p>
      </section>
      <section>
        <h3>Input</h3>
        <Json value={tool.inputSchema} depth={3} />
      </section>
      {tool.outputSchema !== null && (
        <section>
          <h3>Output</h3>
          <Json value={tool.outputSchema} depth={2} />
        </section>
      )}
      {tool.annotations !== null && (
        <section>
          <h3>Claims</h3>
          <Json value={tool.annotations} />
        </section>
      )}
    </>
  );
}

function ApprovalDecision({ tool, onContinue }: { tool: ToolReviewResponse; onContinue: () => void }): ReactElement {
  const canOperate = useHasScope("operate");
  // Only a change of this tool or of its decision matters here, not the rest of the board.
  const guard = useVersionGuard(tool.policyVersion, true, `${tool.fingerprint} ${JSON.stringify([tool.kind, tool.block, tool.approval])}`);
  const mutation = useApiMutation({ guard });
  // The approval is for what was read, even if the provider changed it a moment ago.
  const [readFingerprint = ""] = guard.snapshot.split(" ");
  const changed = readFingerprint !== tool.fingerprint;
  const [note, setNote] = useState("");
  const [confirmOpen, setConfirmOpen] = useState(false);
  const hardFindings = tool.findings.filter(({ severity }) => severity === "hard");
  const noteField = useRef<HTMLDivElement>(null);
  const decide = (path: string, body: unknown, successMessage: string): void => mutation.mutate({ path, body, successMessage, afterSuccess: onContinue });
  const sendApproval = (): void => decide("/approvals/approve", { tools: [{ tool: tool.id, fingerprint: readFingerprint }] }, `${tool.name} is approved as you read it`);
  const approve = (): void => (hardFindings.length > 0 ? setConfirmOpen(true) : sendApproval());
  const block = (): void => decide("/approvals/block", { tool: tool.id, note }, `${tool.name} stays locked`);
  // The keyboard shortcuts pause while there is a change that has not been read.
  const shortcuts = { approve, leave: block, isPaused: guard.outdated || mutation.isPending };
  const currentShortcuts = useRef(shortcuts);
  currentShortcuts.current = shortcuts;
  useEffect(() => {
    if (!canOperate) return;
    const handleKey = (event: KeyboardEvent): void => {
      const target = event.target as Element;
      if (event.ctrlKey || event.metaKey || event.altKey || target.closest("input, textarea, select, dialog, [contenteditable]")) return;
      if (event.key === "a" || event.key === "l") {
        // A key that is held down decides about one tool only.
        if (currentShortcuts.current.isPaused || event.repeat) return;
        if (event.key === "a") currentShortcuts.current.approve();
        else currentShortcuts.current.leave();
      } else if (event.key === "n") noteField.current?.querySelector("textarea")?.focus();
      else return;
      event.preventDefault();
    };
    addEventListener("keydown", handleKey);
    return () => removeEventListener("keydown", handleKey);
  }, [canOperate]);
  if (!canOperate) return <p className="muted">Your token may look, not decide.</p>;
  return (
    <footer className="review-decision stack">
      <ConcurrentChangeNotice
        guard={guard}
        unchanged={changed ? "Your note is kept." : "Your note is kept, and the keys rest."}
        nextAction={changed ? undefined : { label: "On to what waits", onClick: onContinue }}
      >
        {changed ? "The tool changed while you were reading it." : tool.kind === "approved" || tool.block !== null ? "Someone else decided this tool meanwhile." : undefined}
      </ConcurrentChangeNotice>
      <div ref={noteField}>
        <TextArea label="Note, when it stays locked" value={note} onChange={setNote} rows={1} maxLength={500} hint="Whoever asks why it is locked reads this." />
      </div>
      <div className="row">
        <Button variant="primary" icon="check" busy={mutation.isPending} onClick={approve}>
          Approve <kbd>a</kbd>
        </Button>
        <Button disabled={mutation.isPending} onClick={block}>
          Leave locked <kbd>l</kbd>
        </Button>
        <span className="muted small">
          <kbd>n</kbd> writes a note
        </span>
      </div>
      <Dialog
        open={confirmOpen}
        onClose={() => setConfirmOpen(false)}
        title={`Approve ${tool.name} all the same?`}
        actions={
          <>
            <Button onClick={() => setConfirmOpen(false)}>Go back</Button>
            <Button
              variant="danger"
              busy={mutation.isPending}
              onClick={() => {
                setConfirmOpen(false);
                sendApproval();
              }}
            >
              Approve it all the same
            </Button>
          </>
        }
      >
        <p>It looks poisoned: its words try to make a model do what nobody asked for. Once it is approved, every model that is shown the tool reads them.</p>
        <ul className="dotted">
          {hardFindings.map((finding) => (
            <li key={`${finding.path} ${finding.message}`}>
              <VisibleText text={finding.message} />
            </li>
          ))}
        </ul>
      </Dialog>
    </footer>
  );
}
