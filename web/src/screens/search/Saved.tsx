/** Queries that are kept with the tools they should find: a small set by which a search is judged, here and in CI. */
import { useState, type ReactElement } from "react";
import { useDeed, useWhole } from "@/api/answers";
import { useMay } from "@/api/session";
import { amend } from "@/lib/place";
import { command, count } from "@/lib/words";
import { Answered, Button, Code, Dialog, EmptyState, Field, IconButton, Skeleton, StateWords, Tag, TextArea, Trouble } from "@/parts";
import type { Evaluation, Judged, SavedQueries, SavedQuery } from "./shapes";
import { nameFor } from "./stacks";

export function Saving({
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
  const [name, setName] = useState(nameFor(query));
  const [tools, setTools] = useState(expected.join("\n"));
  const deed = useDeed({ silent: true });
  const named = tools.split(/[\s,]+/).filter(Boolean);
  const save = (): void =>
    deed.mutate(
      {
        method: "PUT",
        path: `/search/queries/${encodeURIComponent(name.trim())}`,
        body: { query, expected: named, as: principal },
        done: `${name.trim()} is saved`,
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
          <Button look="main" busy={deed.isPending} disabled={name.trim() === "" || named.length === 0} onClick={save}>
            Save
          </Button>
        </>
      }
    >
      <div className="stack">
        <p className="quiet">
          “{query}”, asked by {principal}. It is run with the others, here and by <code>pegboard search eval</code>.
        </p>
        <Field label="Name" value={name} onChange={setName} maxLength={100} advice="One of the same name is replaced." />
        <TextArea label="Expected tools" mono rows={4} value={tools} onChange={setTools} advice="Ids or names, one a line. One of them among the best is a hit." />
        {deed.error !== null && <Trouble error={deed.error} />}
      </div>
    </Dialog>
  );
}

export function Saved({ limit }: { limit: number }): ReactElement {
  const saved = useWhole<SavedQueries>(["search"], "/search/queries", { limit: 500 }, (before, next) => ({
    ...next,
    queries: [...before.queries, ...next.queries],
  }));
  const run = useDeed<Evaluation>();
  const forget = useDeed();
  const may = useMay("operate");
  const judged = new Map(run.data?.queries.map((each) => [each.name, each]));
  return (
    <section className="sheet search-sheet" aria-label="Saved queries">
      <div className="row apart">
        <h2>Saved queries</h2>
        {(saved.data?.queries.length ?? 0) > 0 && (
          <Button icon="check" busy={run.isPending} onClick={() => run.mutate({ path: "/search/queries/run", body: { limit } })}>
            Run {count(saved.data?.queries.length ?? 0, "query", "queries")}
          </Button>
        )}
      </div>
      {run.data !== undefined && <Rates told={run.data} />}
      <Answered of={saved} waiting={<Skeleton lines={3} />}>
        {(told) =>
          told.queries.length === 0 ? (
            <EmptyState icon="check" title="No query is saved yet">
              Search for something, tick the tools that should be found, and save it. The set tells later whether a change of words made it worse.
            </EmptyState>
          ) : (
            <ul className="search-saved">
              {told.queries.map((query) => (
                <Line
                  key={query.name}
                  query={query}
                  judged={judged.get(query.name)}
                  onForget={
                    may
                      ? () => forget.mutate({ method: "DELETE", path: `/search/queries/${encodeURIComponent(query.name)}`, done: `${query.name} is forgotten` })
                      : undefined
                  }
                />
              ))}
            </ul>
          )
        }
      </Answered>
      {(saved.data?.queries.length ?? 0) > 0 && <Code text={command("pegboard", "search", "eval", "--limit", limit)} />}
    </section>
  );
}

function percent(rate: number): string {
  return `${Math.round(rate * 100)} %`;
}

function Rates({ told }: { told: Evaluation }): ReactElement {
  const { rates } = told;
  const said: readonly (readonly [string, string, string])[] = [
    ["hits", percent(rates.hits), `Queries with an expected tool among the best ${told.limit}`],
    ["first", percent(rates.first), "Queries with an expected tool in the first place"],
    ["recall", percent(rates.recall), "Of the expected tools, how many are found on average"],
    ["reciprocal rank", rates.reciprocalRank.toFixed(2), "One divided by the place of the first expected tool, on average"],
  ];
  return (
    <div role="status">
      <dl className="search-rates">
      {said.map(([name, value, title]) => (
        <div key={name} title={title}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
      </dl>
    </div>
  );
}

function play(query: SavedQuery): void {
  amend((there) => {
    there.set("q", query.query);
    if (query.principal === "local") there.delete("as");
    else there.set("as", query.principal);
  });
  scrollTo({ top: 0 });
}

function Line({ query, judged, onForget }: { query: SavedQuery; judged: Judged | undefined; onForget: (() => void) | undefined }): ReactElement {
  return (
    <li>
      <div className="row apart">
        <button type="button" className="search-replay" onClick={() => play(query)}>
          {query.name}
        </button>
        <span className="row tight">
          {query.principal !== "local" && <Tag>as {query.principal}</Tag>}
          {judged !== undefined && <StateWords state={judged.hit ? "open" : "broken"}>{judged.hit ? "hit" : "missed"}</StateWords>}
          {onForget !== undefined && <IconButton icon="close" name={`Forget ${query.name}`} onClick={onForget} />}
        </span>
      </div>
      {query.name !== query.query && <p className="quiet wrap-any">“{query.query}”</p>}
      <ul className="search-ranks">
        {query.expected.map((id) => {
          const found = judged?.expected.find((each) => each.id === id);
          return (
            <li key={id}>
              <span className="mono wrap-any">{id}</span>
              {found !== undefined && <Tag tone={found.rank === null ? "broken" : "open"}>{found.rank === null ? "not found" : `place ${found.rank}`}</Tag>}
              {found !== undefined && found.why !== "" && <span className="quiet small wrap-any">{found.why}</span>}
            </li>
          );
        })}
      </ul>
    </li>
  );
}
