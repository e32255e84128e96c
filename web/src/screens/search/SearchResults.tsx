/** The results of a search: the parts of each score, the words of the query, locked tools, and the tokens. */
import type { ReactElement } from "react";
import { formatCount, formatNumber } from "@/lib/format";
import { Checkbox, EmptyState, Link, StackedBar, StateLabel, Tag } from "@/components";
import type { SearchResponse } from "./types";
import { BASE_PART, maxTotal, scoreParts, formatScore, partsInUse } from "./score-parts";

export function QueryWords({ words }: { words: SearchResponse["queryWords"] }): ReactElement {
  const unmatched = new Set(words.unmatched);
  return (
    <ul className="search-query-words" aria-label="Words of the query">
      {words.searched.map((word) =>
        unmatched.has(word) ? (
          <li key={word} className="is-unmatched" title="No open tool has this word.">
            {word}
            <span className="visually-hidden">, in no tool</span>
          </li>
        ) : (
          <li key={word}>{word}</li>
        ),
      )}
      {words.ignored.map((word) => (
        <li key={`over ${word}`} className="is-over" title="Passed over: too common to tell tools apart.">
          {word}
          <span className="visually-hidden">, passed over</span>
        </li>
      ))}
    </ul>
  );
}

export function TokenCost({ result }: { result: SearchResponse }): ReactElement {
  const { top, all, toolCount: allTools } = result.tokens;
  return (
    <div className="sheet search-cost">
      <div className="row apart">
        <h2>Tokens</h2>
        <span>
          <b className="search-big">{formatNumber(top)}</b> <span className="muted">of {formatNumber(all)}</span>
        </span>
      </div>
      <StackedBar
        name="Tokens of what is found against all tools"
        total={all}
        parts={[
          { id: "top", label: `the best ${result.hits.length}`, value: top, tone: "plot-1" },
          { id: "rest", label: `the other ${allTools - result.hits.length}`, value: Math.max(all - top, 0), tone: "missing" },
        ]}
      />
    </div>
  );
}

export function HitList({
  result,
  expected,
  onExpect,
}: {
  result: SearchResponse;
  expected: readonly string[];
  onExpect: (id: string, on: boolean) => void;
}): ReactElement {
  const maxScore = maxTotal(result.hits);
  const baseScore = result.hits[0]?.scoreParts[BASE_PART];
  if (result.hits.length === 0) {
    return (
      <EmptyState icon="search" title="No open tool fits">
        {result.lockedCount > 0 ? `${formatCount(result.lockedCount, "locked tool")} would: see below why.` : "Try other words, or another caller."}
      </EmptyState>
    );
  }
  return (
    <section className="sheet search-sheet" aria-label="Results">
      <div className="row apart search-legend">
        <h2>
          {result.matched > result.hits.length ? `The best ${result.hits.length} of ${formatNumber(result.matched)} that fit` : `${formatCount(result.matched, "tool")} fit`}
        </h2>
        <span className="legend">
          {partsInUse(result.hits).map((part) => (
            <span key={part.id}>
              <i className={`fill-${part.tone}`} aria-hidden="true" />
              {part.label}
            </span>
          ))}
        </span>
      </div>
      <ol className="search-hits">
        {result.hits.map((hit, index) => (
          <li key={hit.id}>
            <span className="search-rank muted">{index + 1}</span>
            <span className="search-name">
              <Link to="/tool" query={{ id: hit.id }} className="mono wrap-any" title={hit.id}>
                {hit.name}
              </Link>
              <span className="search-matched">
                {hit.matchedWords.map((word) => (
                  <Tag key={word}>{word}</Tag>
                ))}
              </span>
            </span>
            <span className="search-bar">
              <StackedBar name={`What the score of ${hit.name} is made of`} parts={scoreParts(hit)} total={maxScore} legend={false} format={formatScore} />
            </span>
            <span className="search-score" title="The score: the parts and what every tool starts with, together">
              {formatScore(hit.score)}
            </span>
            <span className="search-tokens muted">{formatCount(hit.tokens, "token")}</span>
            <span className="search-expect">
              <Checkbox label={<span className="search-expected">expected<span className="visually-hidden"> {hit.name}</span></span>} checked={expected.includes(hit.id)} onChange={(on) => onExpect(hit.id, on)} />
            </span>
          </li>
        ))}
      </ol>
      <p className="muted small">
        Ranked by {result.ranker === "hybrid" ? "words and meaning" : "words"}
        {baseScore !== undefined && `; every tool starts with ${formatScore(baseScore)}`}.
      </p>
    </section>
  );
}

export function LockedTools({ result }: { result: SearchResponse }): ReactElement | null {
  if (result.lockedCount === 0) return null;
  return (
    <section className="sheet search-sheet" aria-label="Left out because they are locked">
      <h2>Left out because {result.lockedCount === 1 ? "it is" : "they are"} locked</h2>
      <ul className="search-locked">
        {result.locked.map((tool) => (
          <li key={tool.id}>
            <div className="row apart">
              <Link to="/tool" query={{ id: tool.id, tab: "why" }} className="mono wrap-any">
                {tool.id}
              </Link>
              <StateLabel state={tool.state}>{tool.status.replaceAll("_", " ")}</StateLabel>
            </div>
            <p className="wrap-any">{tool.message}</p>
            <p className="muted small wrap-any">
              {tool.remedy}
              {tool.otherReasonCount > 0 && ` And ${formatCount(tool.otherReasonCount, "reason")} more.`}
            </p>
          </li>
        ))}
      </ul>
      {result.lockedCount > result.locked.length && <p className="muted small">And {formatNumber(result.lockedCount - result.locked.length)} more.</p>}
    </section>
  );
}
