/** Which tools a toolset includes: the lists of patterns, and a preview of the result from the gateway. */
import { useEffect, useState, type FormEvent, type ReactElement } from "react";
import { useApiQuery, useApiMutation } from "@/api/queries";
import { request } from "@/api/client";
import { useHasScope } from "@/api/session";
import type { Toolset } from "@/api/servers";
import { useVersionGuard } from "@/api/version-guard";
import type { ResponseOf } from "@/api/types";
import { shellCommand, formatCount, formatNumber } from "@/lib/format";
import { QueryResult, Button, Code, Field, IconButton, Link, ConcurrentChangeNotice, Notice, Skeleton, StateMark, Tag, ErrorMessage, VirtualList } from "@/components";
import { toolsetPath } from "./toolset-actions";

type ToolChoiceResponse = ResponseOf<"/toolsets/{name}/choice">;
type ChoiceEntry = ToolChoiceResponse["includes"][number];
type ChoiceTool = ToolChoiceResponse["tools"][number];
type ChoiceLists = { readonly includes: readonly string[]; readonly excludes: readonly string[] };

const ROW_HEIGHT_PX = 56;
const MAX_PLAIN_ROWS = 60;

export function ToolChoice({ toolset }: { toolset: Toolset }): ReactElement {
  const choice = useApiQuery<ToolChoiceResponse>(["board", "toolsets", "servers", "policy"], toolsetPath(toolset.id, "/choice"));
  return (
    <QueryResult query={choice} placeholder={<Skeleton lines={8} height={40} />}>
      {(response) => <ChoiceEditor toolset={toolset} current={response} />}
    </QueryResult>
  );
}

function ChoiceEditor({ toolset, current }: { toolset: Toolset; current: ToolChoiceResponse }): ReactElement {
  const [draft, setDraft] = useState<ChoiceLists | null>(null);
  const canOperate = useHasScope("operate");
  const guard = useVersionGuard(current.policyVersion, draft !== null);
  const mutation = useApiMutation({ silent: true, guard });
  const saved = choiceLists(current);
  const lists = draft ?? saved;
  const preview = usePreview(toolset.id, draft, current.policyVersion);
  const shown = draft === null ? current : (preview.data ?? current);
  const isSaveable = draft !== null && preview.data !== null && preview.draft === draft && preview.data.problems.length === 0;
  const edit = (change: Partial<ChoiceLists>): void => {
    mutation.reset();
    const next = { ...lists, ...change };
    setDraft(JSON.stringify(next) === JSON.stringify(saved) ? null : next);
  };
  const save = (): void =>
    mutation.mutate(
      {
        method: "PUT",
        path: toolsetPath(toolset.id, "/choice"),
        body: lists,
        successMessage: `${toolset.name} has ${formatCount(shown.counts.included, "tool")}`,
      },
      { onSuccess: () => setDraft(null) },
    );
  const commandOptions = [...lists.includes.flatMap((each) => ["--include", each]), ...lists.excludes.flatMap((each) => ["--exclude", each])];
  return (
    <div className="tool-choice">
      <div className="stack">
        <EntryList name="Include" tone="open" texts={lists.includes} entries={shown.includes} canOperate={canOperate} onChange={(includes) => edit({ includes })} hint="read_*" />
        <EntryList name="Exclude" tone="broken" texts={lists.excludes} entries={shown.excludes} canOperate={canOperate} onChange={(excludes) => edit({ excludes })} hint="delete_*" />
        <InheritedEntries entries={shown.declared} />
        {shown.problems.map((each) => (
          <Notice key={each} tone="broken">
            {each}
          </Notice>
        ))}
        <ConcurrentChangeNotice guard={guard} unchanged="Your lists are kept." />
        {preview.error !== null && <ErrorMessage error={preview.error} />}
        {mutation.error !== null && !mutation.error.isStale && <ErrorMessage error={mutation.error} />}
        {canOperate ? (
          <div className="row">
            <Button variant="primary" disabled={!isSaveable} busy={mutation.isPending} onClick={save}>
              Save
            </Button>
            <Button disabled={draft === null} onClick={() => setDraft(null)}>
              Start over
            </Button>
          </div>
        ) : (
          <p className="muted small">Your token may look, not change.</p>
        )}
        {draft !== null && <Code text={shellCommand("pegboard", "toolset", "choice", toolset.id, ...(commandOptions.length === 0 ? ["--clear"] : commandOptions))} />}
      </div>
      <ToolPreview choice={shown} />
    </div>
  );
}

function choiceLists(choice: ToolChoiceResponse): ChoiceLists {
  return { includes: choice.includes.map((each) => each.target), excludes: choice.excludes.map((each) => each.target) };
}

/** Fetched a moment after the last change. The previous preview stays until then, so that nothing moves. */
function usePreview(
  id: string,
  draft: ChoiceLists | null,
  version: number,
): { readonly data: ToolChoiceResponse | null; readonly draft: ChoiceLists | null; readonly error: unknown } {
  const [result, setResult] = useState<{ data: ToolChoiceResponse | null; draft: ChoiceLists | null; error: unknown }>({ data: null, draft: null, error: null });
  useEffect(() => {
    if (draft === null) {
      setResult({ data: null, draft: null, error: null });
      return;
    }
    const controller = new AbortController();
    const timer = setTimeout(() => {
      request<ToolChoiceResponse>(toolsetPath(id, "/choice/preview"), { method: "POST", body: draft, signal: controller.signal })
        .then((data) => setResult({ data, draft, error: null }))
        .catch((error: unknown) => {
          if (!controller.signal.aborted) setResult((before) => ({ ...before, error }));
        });
    }, 150);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [id, draft, version]);
  return result;
}

function EntryList({
  name,
  tone,
  texts,
  entries,
  canOperate,
  onChange,
  hint,
}: {
  name: string;
  tone: "open" | "broken";
  texts: readonly string[];
  entries: readonly ChoiceEntry[];
  canOperate: boolean;
  onChange: (texts: readonly string[]) => void;
  hint: string;
}): ReactElement {
  const [filterText, setFilterText] = useState("");
  const add = (event: FormEvent): void => {
    event.preventDefault();
    const text = filterText.trim();
    setFilterText("");
    if (text !== "" && !texts.includes(text)) onChange([...texts, text]);
  };
  return (
    <section className="sheet stack" aria-label={name}>
      <h2 className="row tight">
        {name} <Tag tone={tone}>{formatNumber(texts.length)}</Tag>
      </h2>
      {texts.length === 0 && (
        <p className="muted small">{name === "Include" ? "Nothing by name: all is in that nothing takes out." : "Nothing is taken out here."}</p>
      )}
      {texts.length > 0 && (
        <ul className="choice-entries">
          {texts.map((text, index) => {
            // Both are in the order of the request.
            const entry = entries.length === texts.length ? entries[index] : undefined;
            return (
              <li key={text}>
                <span className="stack-tight">
                  <code className="wrap-any">{entry?.target ?? text}</code>
                  <span className="muted small">{entry === undefined ? "…" : entryStatus(entry)}</span>
                </span>
                {canOperate && (
                  <IconButton name={`Take ${entry?.target ?? text} off the list ${name}`} icon="close" onClick={() => onChange(texts.filter((each) => each !== text))} />
                )}
              </li>
            );
          })}
        </ul>
      )}
      {canOperate && (
        <form className="row choice-add" onSubmit={add}>
          <Field label={`${name} a tool or pattern`} hideLabel mono value={filterText} onChange={setFilterText} placeholder={hint} maxLength={512} />
          <Button small type="submit" disabled={filterText.trim() === ""}>
            Add
          </Button>
        </form>
      )}
    </section>
  );
}

function entryStatus(entry: ChoiceEntry): string {
  if (entry.matchCount === 0) return "fits no tool now";
  const fits = `fits ${formatCount(entry.matchCount, "tool")}`;
  return entry.decidedCount === entry.matchCount ? fits : `${fits}, decides ${entry.decidedCount === 0 ? "none" : formatNumber(entry.decidedCount)} of them`;
}

function InheritedEntries({ entries }: { entries: readonly ChoiceEntry[] }): ReactElement | null {
  if (entries.length === 0) return null;
  return (
    <section className="sheet stack" aria-label="Said elsewhere">
      <h2>Said elsewhere</h2>
      <ul className="choice-entries">
        {entries.map((entry) => (
          <li key={`${entry.author} ${entry.target}`}>
            <span className="stack-tight">
              <code className="wrap-any">{entry.target}</code>
              <span className="muted small">{`${entry.includes ? "included" : "excluded"} by ${entrySource(entry)}; ${entryStatus(entry)}`}</span>
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function entrySource(entry: ChoiceEntry): string {
  if (entry.author === "manifest") return "its toolset.yaml";
  return entry.from?.kind === "declared" ? `${entry.from.file}:${entry.from.line}` : "pegboard.yaml";
}

function ToolPreview({ choice }: { choice: ToolChoiceResponse }): ReactElement {
  const { counts, tools } = choice;
  return (
    <section className="stack" aria-label="Tools in the toolset">
      <h2 className="row tight" aria-live="polite">
        {formatNumber(counts.included)} of {formatCount(counts.all, "tool")} in it
        {counts.added > 0 && <Tag tone="open">{formatNumber(counts.added)} added</Tag>}
        {counts.removed > 0 && <Tag tone="broken">{formatNumber(counts.removed)} removed</Tag>}
      </h2>
      {tools.length === 0 ? (
        <p className="muted">None of its servers has listed a tool.</p>
      ) : tools.length <= MAX_PLAIN_ROWS ? (
        <ul className="tool-lines" aria-label="Live set">
          {tools.map((tool) => (
            <li key={tool.id}>
              <ChoiceToolRow tool={tool} />
            </li>
          ))}
        </ul>
      ) : (
        <VirtualList name="Live set" rows={tools} rowKey={(tool) => tool.id} height={() => ROW_HEIGHT_PX} boxHeight="60vh">
          {(tool) => <ChoiceToolRow tool={tool} />}
        </VirtualList>
      )}
      {choice.omitted > 0 && <p className="muted">And {formatNumber(choice.omitted)} more.</p>}
    </section>
  );
}

const CHANGE_LABELS: Readonly<Record<ChoiceTool["change"], string>> = { added: "added", removed: "removed", in: "in", out: "out" };

function ChoiceToolRow({ tool }: { tool: ChoiceTool }): ReactElement {
  const name = (
    <Link to="/tool" query={{ id: tool.id }} className="mono strong truncate">
      {tool.name}
    </Link>
  );
  const why = tool.verdict.verdict === "open" ? `${tool.id} is open${tool.target === null ? "" : ` by ${tool.target}`}.` : (tool.verdict.message ?? "");
  return (
    <div className={`tool-line choice-${tool.change}`}>
      <StateMark state={tool.state} label="screen-reader" />
      <span className="tool-text">
        {tool.change === "added" ? <ins>{name}</ins> : tool.change === "removed" ? <del>{name}</del> : name}
        <span className="muted small truncate" title={why}>
          {why}
        </span>
      </span>
      <span className="small nowrap choice-label">{CHANGE_LABELS[tool.change]}</span>
    </div>
  );
}
