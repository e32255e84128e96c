/** One tool as it is read before it is decided on: what is new or differs, what looks wrong, and the yes or no. */
import { useEffect, useRef, useState, type ReactElement } from "react";
import { useAnswer, useDeed } from "@/api/answers";
import { useMay } from "@/api/session";
import { useStand } from "@/api/standing";
import { Answered, Button, Dialog, Json, Link, Meanwhile, Notice, Plain, SectionDiff, Skeleton, Tag, TextArea, Time } from "@/parts";
import type { Finding, Reviewed } from "./told";

export function Review({ id, onward }: { id: string; onward: () => void }): ReactElement {
  const answer = useAnswer<Reviewed>(["approvals", "board", "policy"], "/approvals/show", { tool: id }, { keeps: false });
  return (
    <Answered of={answer} waiting={<Skeleton lines={12} height={24} />}>
      {(tool) => (
        <div className="stack">
          <Reading tool={tool} />
          <Deciding tool={tool} onward={onward} />
        </div>
      )}
    </Answered>
  );
}

export function Reading({ tool }: { tool: Reviewed }): ReactElement {
  return (
    <article className="stack review" aria-label={`Review of ${tool.name}`}>
      <header>
        <div className="row">
          <h2 className="mono wrap-any">{tool.name}</h2>
          <Tag tone="wants">{tool.kind}</Tag>
        </div>
        <Link to="/tool" query={{ id: tool.id }} className="mono small wrap-any">
          {tool.id}
        </Link>
        {tool.since !== null && (
          <p className="quiet small">
            Waits <Time at={tool.since} lasts />
          </p>
        )}
        {tool.approval !== null && (
          <p className="quiet small">
            Last approved {tool.approval.firstSight ? "at first sight" : `by ${tool.approval.by}`} <Time at={tool.approval.at ?? ""} />
          </p>
        )}
      </header>
      {tool.block !== null && <Notice tone="plain">{tool.block.sentence}</Notice>}
      <Notes notes={tool.notes} cautions={tool.cautions} />
      {tool.difference.length > 0 ? (
        tool.difference.map((section) => <SectionDiff key={section.section} section={section} />)
      ) : (
        <Whole tool={tool} />
      )}
    </article>
  );
}

function Notes({ notes, cautions }: { notes: readonly Finding[]; cautions: readonly string[] }): ReactElement | null {
  if (notes.length === 0 && cautions.length === 0) return null;
  return (
    <ul className="stack tight" aria-label="What to look at">
      {notes.map((note) => (
        <li key={`${note.path} ${note.sentence}`}>
          <Notice tone="wants">
            <b>{note.severity === "hard" ? "Looks poisoned" : "Look closely"}:</b> <Plain text={note.sentence} />{" "}
            {note.excerpt !== "" && (
              <code className="wrap-any">
                <Plain text={note.excerpt} />
              </code>
            )}{" "}
            <span className="quiet small mono wrap-any">
              in <Plain text={note.path} />
            </span>
          </Notice>
        </li>
      ))}
      {cautions.map((caution) => (
        <li key={caution}>
          <Notice tone="wants">
            <Plain text={caution} />
          </Notice>
        </li>
      ))}
    </ul>
  );
}

/** A tool that nobody saw before is read whole. */
function Whole({ tool }: { tool: Reviewed }): ReactElement {
  return (
    <>
      <section>
        <h3>Description</h3>
        <p className="prewrap wrap-any">{tool.description === "" ? <span className="quiet">none</span> : <Plain text={tool.description} />}</p>
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

function Deciding({ tool, onward }: { tool: Reviewed; onward: () => void }): ReactElement {
  const operates = useMay("operate");
  // What else happens on the board changes nothing of what is read here; another text or another's verdict does.
  const stand = useStand(tool.policyVersion, true, `${tool.fingerprint} ${JSON.stringify([tool.kind, tool.block, tool.approval])}`);
  const deed = useDeed({ stand });
  // What is approved is what was read, also when the provider changed it a moment ago.
  const [read = ""] = stand.seen.split(" ");
  const changed = read !== tool.fingerprint;
  const [note, setNote] = useState("");
  const [asks, setAsks] = useState(false);
  const poisoned = tool.notes.filter(({ severity }) => severity === "hard");
  const field = useRef<HTMLDivElement>(null);
  const decide = (path: string, body: unknown, done: string): void => deed.mutate({ path, body, done, onDone: onward });
  const approves = (): void => decide("/approvals/approve", { tools: [{ tool: tool.id, fingerprint: read }] }, `${tool.name} is approved as you read it`);
  const approve = (): void => (poisoned.length > 0 ? setAsks(true) : approves());
  const leave = (): void => decide("/approvals/block", { tool: tool.id, note }, `${tool.name} stays locked`);
  // Keys are for what is read: where another person decided it, or it changed, none does anything before that is read.
  const now = { approve, leave, rest: stand.moved || deed.isPending };
  const keys = useRef(now);
  keys.current = now;
  useEffect(() => {
    if (!operates) return;
    const press = (event: KeyboardEvent): void => {
      const at = event.target as Element;
      if (event.ctrlKey || event.metaKey || event.altKey || at.closest("input, textarea, select, dialog, [contenteditable]")) return;
      if (event.key === "a" || event.key === "l") {
        // A key that is held decides about what stood there when it went down, and about nothing that comes after it.
        if (keys.current.rest || event.repeat) return;
        if (event.key === "a") keys.current.approve();
        else keys.current.leave();
      } else if (event.key === "n") field.current?.querySelector("textarea")?.focus();
      else return;
      event.preventDefault();
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, [operates]);
  if (!operates) return <p className="quiet">Your token may look, not decide.</p>;
  return (
    <footer className="review-deciding stack">
      <Meanwhile
        of={stand}
        kept={changed ? "Your note is kept." : "Your note is kept, and the keys rest."}
        onward={changed ? undefined : { label: "On to what waits", go: onward }}
      >
        {changed ? "The tool changed while you were reading it." : tool.kind === "approved" || tool.block !== null ? "Someone else decided this tool meanwhile." : undefined}
      </Meanwhile>
      <div ref={field}>
        <TextArea label="Note, when it stays locked" value={note} onChange={setNote} rows={1} maxLength={500} advice="Whoever asks why it is locked reads this." />
      </div>
      <div className="row">
        <Button look="main" icon="check" busy={deed.isPending} onClick={approve}>
          Approve <kbd>a</kbd>
        </Button>
        <Button disabled={deed.isPending} onClick={leave}>
          Leave locked <kbd>l</kbd>
        </Button>
        <span className="quiet small">
          <kbd>n</kbd> writes a note
        </span>
      </div>
      <Dialog
        open={asks}
        onClose={() => setAsks(false)}
        title={`Approve ${tool.name} all the same?`}
        actions={
          <>
            <Button onClick={() => setAsks(false)}>Go back</Button>
            <Button
              look="bad"
              busy={deed.isPending}
              onClick={() => {
                setAsks(false);
                approves();
              }}
            >
              Approve it all the same
            </Button>
          </>
        }
      >
        <p>It looks poisoned: its words try to make a model do what nobody asked for. Once it is approved, every model that is shown the tool reads them.</p>
        <ul className="dotted">
          {poisoned.map((each) => (
            <li key={`${each.path} ${each.sentence}`}>
              <Plain text={each.sentence} />
            </li>
          ))}
        </ul>
      </Dialog>
    </footer>
  );
}
