/** What is in a toolset: lists of what to include and exclude, and beside them the set as the gateway works it out. */
import { useEffect, useState, type FormEvent, type ReactElement } from "react";
import { useAnswer, useDeed } from "@/api/answers";
import { ask } from "@/api/client";
import { useMay } from "@/api/session";
import type { Toolset } from "@/api/servers";
import { useStand } from "@/api/standing";
import type { Answer } from "@/api/types";
import { command, count, number } from "@/lib/words";
import { Answered, Button, Code, Field, IconButton, Link, Meanwhile, Notice, Skeleton, StateMark, Tag, Trouble, VirtualList } from "@/parts";
import { toolsetPath } from "./acting";

type Choice = Answer<"/toolsets/{name}/choice">;
type Entry = Choice["includes"][number];
type Tool = Choice["tools"][number];
type Lists = { readonly includes: readonly string[]; readonly excludes: readonly string[] };

const TALL = 56;
const MOST_PLAIN = 60;

export function Choosing({ toolset }: { toolset: Toolset }): ReactElement {
  const choice = useAnswer<Choice>(["board", "toolsets", "servers", "policy"], toolsetPath(toolset.id, "/choice"));
  return (
    <Answered of={choice} waiting={<Skeleton lines={8} height={40} />}>
      {(now) => <Editor toolset={toolset} now={now} />}
    </Answered>
  );
}

function Editor({ toolset, now }: { toolset: Toolset; now: Choice }): ReactElement {
  const [draft, setDraft] = useState<Lists | null>(null);
  const may = useMay("operate");
  const stand = useStand(now.policyVersion, draft !== null);
  const deed = useDeed({ silent: true, stand });
  const saved = listsOf(now);
  const lists = draft ?? saved;
  const preview = usePreview(toolset.id, draft, now.policyVersion);
  const shown = draft === null ? now : (preview.answer ?? now);
  const ready = draft !== null && preview.answer !== null && preview.of === draft && preview.answer.problems.length === 0;
  const edit = (change: Partial<Lists>): void => {
    deed.reset();
    const next = { ...lists, ...change };
    setDraft(JSON.stringify(next) === JSON.stringify(saved) ? null : next);
  };
  const save = (): void =>
    deed.mutate(
      {
        method: "PUT",
        path: toolsetPath(toolset.id, "/choice"),
        body: lists,
        done: `${toolset.name} has ${count(shown.counts.included, "tool")}`,
      },
      { onSuccess: () => setDraft(null) },
    );
  const words = [...lists.includes.flatMap((each) => ["--include", each]), ...lists.excludes.flatMap((each) => ["--exclude", each])];
  return (
    <div className="choosing">
      <div className="stack">
        <ListOf name="Include" tone="open" texts={lists.includes} entries={shown.includes} may={may} onChange={(includes) => edit({ includes })} hint="read_*" />
        <ListOf name="Exclude" tone="broken" texts={lists.excludes} entries={shown.excludes} may={may} onChange={(excludes) => edit({ excludes })} hint="delete_*" />
        <Standing entries={shown.standing} />
        {shown.problems.map((each) => (
          <Notice key={each} tone="broken">
            {each}
          </Notice>
        ))}
        <Meanwhile of={stand} kept="Your lists are kept." />
        {preview.error !== null && <Trouble error={preview.error} />}
        {deed.error !== null && !deed.error.isStale && <Trouble error={deed.error} />}
        {may ? (
          <div className="row">
            <Button look="main" disabled={!ready} busy={deed.isPending} onClick={save}>
              Save
            </Button>
            <Button disabled={draft === null} onClick={() => setDraft(null)}>
              Start over
            </Button>
          </div>
        ) : (
          <p className="quiet small">Your token may look, not change.</p>
        )}
        {draft !== null && <Code text={command("pegboard", "toolset", "choice", toolset.id, ...(words.length === 0 ? ["--nothing"] : words))} />}
      </div>
      <LiveSet choice={shown} />
    </div>
  );
}

function listsOf(choice: Choice): Lists {
  return { includes: choice.includes.map((each) => each.target), excludes: choice.excludes.map((each) => each.target) };
}

/** A moment after the last change. What was told before stays until there is an answer, so that nothing jumps. */
function usePreview(
  id: string,
  draft: Lists | null,
  version: number,
): { readonly answer: Choice | null; readonly of: Lists | null; readonly error: unknown } {
  const [found, setFound] = useState<{ answer: Choice | null; of: Lists | null; error: unknown }>({ answer: null, of: null, error: null });
  useEffect(() => {
    if (draft === null) {
      setFound({ answer: null, of: null, error: null });
      return;
    }
    const asking = new AbortController();
    const waiting = setTimeout(() => {
      ask<Choice>(toolsetPath(id, "/choice/preview"), { method: "POST", body: draft, signal: asking.signal })
        .then((answer) => setFound({ answer, of: draft, error: null }))
        .catch((error: unknown) => {
          if (!asking.signal.aborted) setFound((before) => ({ ...before, error }));
        });
    }, 150);
    return () => {
      clearTimeout(waiting);
      asking.abort();
    };
  }, [id, draft, version]);
  return found;
}

function ListOf({
  name,
  tone,
  texts,
  entries,
  may,
  onChange,
  hint,
}: {
  name: string;
  tone: "open" | "broken";
  texts: readonly string[];
  entries: readonly Entry[];
  may: boolean;
  onChange: (texts: readonly string[]) => void;
  hint: string;
}): ReactElement {
  const [typed, setTyped] = useState("");
  const add = (event: FormEvent): void => {
    event.preventDefault();
    const text = typed.trim();
    setTyped("");
    if (text !== "" && !texts.includes(text)) onChange([...texts, text]);
  };
  return (
    <section className="sheet stack" aria-label={name}>
      <h2 className="row tight">
        {name} <Tag tone={tone}>{number(texts.length)}</Tag>
      </h2>
      {texts.length === 0 && (
        <p className="quiet small">{name === "Include" ? "Nothing by name: all is in that nothing takes out." : "Nothing is taken out here."}</p>
      )}
      {texts.length > 0 && (
        <ul className="choice-entries">
          {texts.map((text, at) => {
            // Both are in the order in which they were given.
            const entry = entries.length === texts.length ? entries[at] : undefined;
            return (
              <li key={text}>
                <span className="stack-tight">
                  <code className="wrap-any">{entry?.target ?? text}</code>
                  <span className="quiet small">{entry === undefined ? "…" : said(entry)}</span>
                </span>
                {may && (
                  <IconButton name={`Take ${entry?.target ?? text} off the list ${name}`} icon="close" onClick={() => onChange(texts.filter((each) => each !== text))} />
                )}
              </li>
            );
          })}
        </ul>
      )}
      {may && (
        <form className="row choice-add" onSubmit={add}>
          <Field label={`${name} a tool or pattern`} unlabelled mono value={typed} onChange={setTyped} placeholder={hint} maxLength={512} />
          <Button small type="submit" disabled={typed.trim() === ""}>
            Add
          </Button>
        </form>
      )}
    </section>
  );
}

function said(entry: Entry): string {
  if (entry.fits === 0) return "fits no tool now";
  const fits = `fits ${count(entry.fits, "tool")}`;
  return entry.decides === entry.fits ? fits : `${fits}, decides ${entry.decides === 0 ? "none" : number(entry.decides)} of them`;
}

function Standing({ entries }: { entries: readonly Entry[] }): ReactElement | null {
  if (entries.length === 0) return null;
  return (
    <section className="sheet stack" aria-label="Said elsewhere">
      <h2>Said elsewhere</h2>
      <ul className="choice-entries">
        {entries.map((entry) => (
          <li key={`${entry.whose} ${entry.target}`}>
            <span className="stack-tight">
              <code className="wrap-any">{entry.target}</code>
              <span className="quiet small">{`${entry.includes ? "included" : "excluded"} by ${whose(entry)}; ${said(entry)}`}</span>
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function whose(entry: Entry): string {
  if (entry.whose === "manifest") return "its toolset.yaml";
  return entry.from?.kind === "declared" ? `${entry.from.file}:${entry.from.line}` : "pegboard.yaml";
}

function LiveSet({ choice }: { choice: Choice }): ReactElement {
  const { counts, tools } = choice;
  return (
    <section className="stack" aria-label="Tools in the toolset">
      <h2 className="row tight" aria-live="polite">
        {number(counts.included)} of {count(counts.all, "tool")} in it
        {counts.added > 0 && <Tag tone="open">{number(counts.added)} added</Tag>}
        {counts.removed > 0 && <Tag tone="broken">{number(counts.removed)} removed</Tag>}
      </h2>
      {tools.length === 0 ? (
        <p className="quiet">None of its servers has listed a tool.</p>
      ) : tools.length <= MOST_PLAIN ? (
        <ul className="tool-lines" aria-label="Live set">
          {tools.map((tool) => (
            <li key={tool.id}>
              <Line tool={tool} />
            </li>
          ))}
        </ul>
      ) : (
        <VirtualList name="Live set" rows={tools} rowKey={(tool) => tool.id} height={() => TALL} boxHeight="60vh">
          {(tool) => <Line tool={tool} />}
        </VirtualList>
      )}
      {choice.more > 0 && <p className="quiet">And {number(choice.more)} more.</p>}
    </section>
  );
}

const WORDS: Readonly<Record<Tool["change"], string>> = { added: "added", removed: "removed", in: "in", out: "out" };

function Line({ tool }: { tool: Tool }): ReactElement {
  const name = (
    <Link to="/tool" query={{ id: tool.id }} className="mono strong cut">
      {tool.name}
    </Link>
  );
  const why = tool.verdict.verdict === "open" ? `${tool.id} is open${tool.by === null ? "" : ` by ${tool.by}`}.` : (tool.verdict.sentence ?? "");
  return (
    <div className={`tool-line choice-${tool.change}`}>
      <StateMark state={tool.state} word="unseen" />
      <span className="tool-words">
        {tool.change === "added" ? <ins>{name}</ins> : tool.change === "removed" ? <del>{name}</del> : name}
        <span className="quiet small cut" title={why}>
          {why}
        </span>
      </span>
      <span className="small nowrap choice-word">{WORDS[tool.change]}</span>
    </div>
  );
}
