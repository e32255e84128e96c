import { useRef, useState, type ReactElement } from "react";
import { useApiQuery } from "@/api/queries";
import { useHasScope } from "@/api/session";
import { useParam } from "@/lib/router";
import { shellCommand } from "@/lib/format";
import { QueryResult, Button, EmptyState, Field, Screen, SearchField, Skeleton } from "@/components";
import { PrincipalField } from "@/components/PrincipalField";
import { TokenCost, HitList, LockedTools, QueryWords } from "./SearchResults";
import { SavedQueriesSection, SaveQueryDialog } from "./SavedQueries";
import type { SearchResponse } from "./types";
import "./search.css";

const LOCAL_PRINCIPAL = "local";
const DEFAULT_LIMIT = "10";

/** The number of results, or the default if the text is not a number. */
function parseLimit(text: string): number {
  const value = Number(text);
  return Number.isInteger(value) && value > 0 ? value : Number(DEFAULT_LIMIT);
}

export default function SearchScreen(): ReactElement {
  const [query, setQuery] = useParam("q");
  const [principal, setPrincipal] = useParam("as", LOCAL_PRINCIPAL);
  const [k, setK] = useParam("k", DEFAULT_LIMIT);
  const [saveOpen, setSaveOpen] = useState(false);
  const [expectedFor, setExpectedFor] = useState<{ readonly query: string; readonly expectedIds: readonly string[] }>({ query: "", expectedIds: [] });
  const form = useRef<HTMLFormElement>(null);
  const canOperate = useHasScope("operate");
  const limit = parseLimit(k);
  const searchQuery = { query, limit, as: principal.trim() === LOCAL_PRINCIPAL ? undefined : principal.trim() };
  const hasQuery = query.trim() !== "";
  const response = useApiQuery<SearchResponse>(["board", "policy"], "/search/playground", searchQuery, { enabled: hasQuery });
  // The ticked tools belong to the query they were ticked for.
  const expectedIds = expectedFor.query === query ? expectedFor.expectedIds : [];
  return (
    <Screen
      title="Search"
      lead="What a model finds when it looks for a tool, and why in this order."
      json={hasQuery ? { path: "/search/playground", query: searchQuery } : { path: "/search" }}
      command={hasQuery ? shellCommand("pegboard", "tools", "search", query, "--limit", limit, "--explain", searchQuery.as && "--as", searchQuery.as) : "pegboard search status"}
    >
      <form ref={form} className="search-form" role="search" aria-label="Search tools" onSubmit={(event) => event.preventDefault()}>
        <div className="field search-q">
          <span className="field-label" aria-hidden="true">
            Query
          </span>
          <SearchField label="Query" placeholder="What a model would ask for" value={query} onChange={setQuery} maxLength={2000} />
        </div>
        <PrincipalField label="Principal" value={principal} onChange={setPrincipal} />
        <Field label="k, the best" value={k} onChange={setK} type="number" min={1} max={100} />
        <Button icon="check" disabled={!hasQuery || !canOperate} onClick={() => setSaveOpen(true)}>
          Save with {expectedIds.length === 0 ? "expected tools" : `${expectedIds.length} expected`}
        </Button>
      </form>
      {hasQuery ? (
        <QueryResult query={response} placeholder={<Skeleton lines={8} height={36} />}>
          {(result) => (
            <>
              <div className="search-summary">
                <div className="sheet search-cost">
                  <h2>Words</h2>
                  <QueryWords words={result.queryWords} />
                </div>
                <TokenCost result={result} />
              </div>
              <HitList result={result} expected={expectedIds} onExpect={(id, on) => setExpectedFor({ query, expectedIds: on ? [...expectedIds, id] : expectedIds.filter((each) => each !== id) })} />
              <LockedTools result={result} />
            </>
          )}
        </QueryResult>
      ) : (
        <EmptyState
          icon="search"
          title="Ask for something"
          action={
            <Button variant="primary" onClick={() => form.current?.querySelector("input")?.focus()}>
              Write a query
            </Button>
          }
        >
          Write what a model would look for. Each result shows what its score is made of, and what was left out.
        </EmptyState>
      )}
      <SavedQueriesSection limit={limit} />
      {saveOpen && <SaveQueryDialog query={query} principal={principal.trim() || LOCAL_PRINCIPAL} expected={expectedIds} onClose={() => setSaveOpen(false)} />}
    </Screen>
  );
}
