/** Saved queries with the tools they should find: a small test set for the search, here and in CI. */
import { useState, type ReactElement } from "react";
import { useApiMutation, useAllPages } from "@/api/queries";
import { useHasScope } from "@/api/session";
import { updateQuery } from "@/lib/router";
import { shellCommand, formatCount } from "@/lib/format";
import { QueryResult, Button, Code, Dialog, EmptyState, Field, IconButton, Skeleton, StateLabel, Tag, TextArea, ErrorMessage } from "@/components";
import type { Evaluation, JudgedQuery, SavedQueries, SavedQuery } from "./types";
import { suggestedName } from "./score-parts";

export function SaveQueryDialog({
  query,
  principal,
  expected,
  onClose,
}: {
  query: string;
  principal: string;
  expected: readonly string[];
  onClose: () => void;
}): ReactElement {
  const [name, setName] = useState(suggestedName(query));
  const [tools, setTools] = useState(expected.join("\n"));
  const mutation = useApiMutation({ silent: true });
  const expectedTools = tools.split(/[\s,]+/).filter(Boolean);
  const save = (): void =>
    mutation.mutate(
      {
        method: "PUT",
        path: `/search/queries/${encodeURIComponent(name.trim())}`,
        body: { query, expected: expectedTools, as: principal },
        successMessage: `${name.trim()} is saved`,
      },
      { onSuccess: onClose },
    );
  return (
    <Dialog
      open
      onClose={onClose}
      title="Save this query"
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button variant="primary" busy={mutation.isPending} disabled={name.trim() === "" || expectedTools.length === 0} onClick={save}>
            Save
          </Button>
        </>
      }
    >
      <div className="stack">
        <p className="muted">
          “{query}”, asked by {principal}. It is run with the others, here and by <code>pegboard search eval</code>.
        </p>
        <Field label="Name" value={name} onChange={setName} maxLength={100} hint="One of the same name is replaced." />
        <TextArea label="Expected tools" mono rows={4} value={tools} onChange={setTools} hint="Ids or names, one a line. One of them among the best is a hit." />
        {mutation.error !== null && <ErrorMessage error={mutation.error} />}
      </div>
    </Dialog>
  );
}

export function SavedQueriesSection({ limit }: { limit: number }): ReactElement {
  const saved = useAllPages<SavedQueries>(["search"], "/search/queries", { limit: 500 }, (before, next) => ({
    ...next,
    queries: [...before.queries, ...next.queries],
  }));
  const runMutation = useApiMutation<Evaluation>();
  const deleteMutation = useApiMutation();
  const canOperate = useHasScope("operate");
  const judgedByName = new Map(runMutation.data?.queries.map((judgedQuery) => [judgedQuery.name, judgedQuery]));
  return (
    <section className="sheet search-sheet" aria-label="Saved queries">
      <div className="row apart">
        <h2>Saved queries</h2>
        {(saved.data?.queries.length ?? 0) > 0 && (
          <Button icon="check" busy={runMutation.isPending} onClick={() => runMutation.mutate({ path: "/search/queries/run", body: { limit } })}>
            Run {formatCount(saved.data?.queries.length ?? 0, "query", "queries")}
          </Button>
        )}
      </div>
      {runMutation.data !== undefined && <EvaluationRates evaluation={runMutation.data} />}
      <QueryResult query={saved} placeholder={<Skeleton lines={3} />}>
        {(response) =>
          response.queries.length === 0 ? (
            <EmptyState icon="check" title="No query is saved yet">
              Search for something, tick the tools that should be found, and save it. The set tells later whether a change of words made it worse.
            </EmptyState>
          ) : (
            <ul className="search-saved">
              {response.queries.map((query) => (
                <SavedQueryRow
                  key={query.name}
                  query={query}
                  judged={judgedByName.get(query.name)}
                  onDelete={
                    canOperate
                      ? () => deleteMutation.mutate({ method: "DELETE", path: `/search/queries/${encodeURIComponent(query.name)}`, successMessage: `${query.name} is forgotten` })
                      : undefined
                  }
                />
              ))}
            </ul>
          )
        }
      </QueryResult>
      {(saved.data?.queries.length ?? 0) > 0 && <Code text={shellCommand("pegboard", "search", "eval", "--limit", limit)} />}
    </section>
  );
}

function formatPercent(rate: number): string {
  return `${Math.round(rate * 100)} %`;
}

function EvaluationRates({ evaluation }: { evaluation: Evaluation }): ReactElement {
  const { rates } = evaluation;
  const rows: readonly (readonly [string, string, string])[] = [
    ["hits", formatPercent(rates.hitRate), `Queries with an expected tool among the best ${evaluation.limit}`],
    ["first", formatPercent(rates.firstRate), "Queries with an expected tool in the first place"],
    ["recall", formatPercent(rates.recall), "Of the expected tools, how many are found on average"],
    ["reciprocal rank", rates.reciprocalRank.toFixed(2), "One divided by the place of the first expected tool, on average"],
  ];
  return (
    <div role="status">
      <dl className="search-rates">
      {rows.map(([name, value, title]) => (
        <div key={name} title={title}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
      </dl>
    </div>
  );
}

function openQuery(query: SavedQuery): void {
  updateQuery((params) => {
    params.set("q", query.query);
    if (query.principal === "local") params.delete("as");
    else params.set("as", query.principal);
  });
  scrollTo({ top: 0 });
}

function SavedQueryRow({ query, judged, onDelete }: { query: SavedQuery; judged: JudgedQuery | undefined; onDelete: (() => void) | undefined }): ReactElement {
  return (
    <li>
      <div className="row apart">
        <button type="button" className="search-replay" onClick={() => openQuery(query)}>
          {query.name}
        </button>
        <span className="row tight">
          {query.principal !== "local" && <Tag>as {query.principal}</Tag>}
          {judged !== undefined && <StateLabel state={judged.hit ? "open" : "broken"}>{judged.hit ? "hit" : "missed"}</StateLabel>}
          {onDelete !== undefined && <IconButton icon="close" name={`Forget ${query.name}`} onClick={onDelete} />}
        </span>
      </div>
      {query.name !== query.query && <p className="muted wrap-any">“{query.query}”</p>}
      <ul className="search-ranks">
        {query.expected.map((id) => {
          const judgedTool = judged?.expected.find((each) => each.id === id);
          return (
            <li key={id}>
              <span className="mono wrap-any">{id}</span>
              {judgedTool !== undefined && <Tag tone={judgedTool.rank === null ? "broken" : "open"}>{judgedTool.rank === null ? "not found" : `place ${judgedTool.rank}`}</Tag>}
              {judgedTool !== undefined && judgedTool.reason !== "" && <span className="muted small wrap-any">{judgedTool.reason}</span>}
            </li>
          );
        })}
      </ul>
    </li>
  );
}
