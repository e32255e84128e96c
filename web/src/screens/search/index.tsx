import { useRef, useState, type ReactElement } from "react";
import { useAnswer } from "@/api/answers";
import { useMay } from "@/api/session";
import { useParam } from "@/lib/place";
import { command } from "@/lib/words";
import { Answered, Button, EmptyState, Field, Screen, SearchField, Skeleton } from "@/parts";
import { PrincipalField } from "@/parts/PrincipalField";
import { Cost, Hits, Locked, Words } from "./Results";
import { Saved, Saving } from "./Saved";
import type { Playground } from "./shapes";
import "./search.css";

const LOCAL = "local";
const FEW = "10";

/** As many as are asked for, or as many as usual while that is no number. */
function limitOf(typed: string): number {
  const read = Number(typed);
  return Number.isInteger(read) && read > 0 ? read : Number(FEW);
}

export default function SearchScreen(): ReactElement {
  const [query, setQuery] = useParam("q");
  const [principal, setPrincipal] = useParam("as", LOCAL);
  const [k, setK] = useParam("k", FEW);
  const [saving, setSaving] = useState(false);
  const [expected, expect] = useState<{ readonly query: string; readonly ids: readonly string[] }>({ query: "", ids: [] });
  const box = useRef<HTMLFormElement>(null);
  const may = useMay("operate");
  const limit = limitOf(k);
  const asked = { query, limit, as: principal.trim() === LOCAL ? undefined : principal.trim() };
  const is = query.trim() !== "";
  const found = useAnswer<Playground>(["board", "policy"], "/search/playground", asked, { when: is });
  // What is ticked belongs to the query that was asked.
  const ids = expected.query === query ? expected.ids : [];
  return (
    <Screen
      title="Search"
      lead="What a model finds when it looks for a tool, and why in this order."
      json={is ? { path: "/search/playground", query: asked } : { path: "/search" }}
      command={is ? command("pegboard", "tools", "search", query, "--limit", limit, "--explain", asked.as && "--as", asked.as) : "pegboard search status"}
    >
      <form ref={box} className="search-form" role="search" aria-label="Search tools" onSubmit={(event) => event.preventDefault()}>
        <div className="field search-q">
          <span className="field-label" aria-hidden="true">
            Query
          </span>
          <SearchField label="Query" placeholder="What a model would ask for" value={query} onChange={setQuery} maxLength={2000} />
        </div>
        <PrincipalField label="Principal" value={principal} onChange={setPrincipal} />
        <Field label="k, the best" value={k} onChange={setK} type="number" min={1} max={100} />
        <Button icon="check" disabled={!is || !may} onClick={() => setSaving(true)}>
          Save with {ids.length === 0 ? "expected tools" : `${ids.length} expected`}
        </Button>
      </form>
      {is ? (
        <Answered of={found} waiting={<Skeleton lines={8} height={36} />}>
          {(told) => (
            <>
              <div className="search-over">
                <div className="sheet search-cost">
                  <h2>Words</h2>
                  <Words words={told.words} />
                </div>
                <Cost told={told} />
              </div>
              <Hits told={told} expected={ids} onExpect={(id, on) => expect({ query, ids: on ? [...ids, id] : ids.filter((each) => each !== id) })} />
              <Locked told={told} />
            </>
          )}
        </Answered>
      ) : (
        <EmptyState
          icon="search"
          title="Ask for something"
          action={
            <Button look="main" onClick={() => box.current?.querySelector("input")?.focus()}>
              Write a query
            </Button>
          }
        >
          Write what a model would look for. Each result shows what its score is made of, and what was left out.
        </EmptyState>
      )}
      <Saved limit={limit} />
      {saving && <Saving query={query} principal={principal.trim() || LOCAL} expected={ids} onClose={() => setSaving(false)} />}
    </Screen>
  );
}
