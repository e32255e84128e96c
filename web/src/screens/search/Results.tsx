/** What a search finds and why in this order: bars of what each score is piled up from, the words, the locked ones, the cost. */
import type { ReactElement } from "react";
import { count, number } from "@/lib/words";
import { Check, EmptyState, Link, StackedBar, StateWords, Tag } from "@/parts";
import type { Playground } from "./shapes";
import { BASE, longest, partsOf, score, shown } from "./stacks";

export function Words({ words }: { words: Playground["words"] }): ReactElement {
  const nowhere = new Set(words.foundNowhere);
  return (
    <ul className="search-words" aria-label="Words of the query">
      {words.lookedFor.map((word) =>
        nowhere.has(word) ? (
          <li key={word} className="is-nowhere" title="No open tool has this word.">
            {word}
            <span className="unseen">, in no tool</span>
          </li>
        ) : (
          <li key={word}>{word}</li>
        ),
      )}
      {words.passedOver.map((word) => (
        <li key={`over ${word}`} className="is-over" title="Passed over: too common to tell tools apart.">
          {word}
          <span className="unseen">, passed over</span>
        </li>
      ))}
    </ul>
  );
}

export function Cost({ told }: { told: Playground }): ReactElement {
  const { top, all, allTools } = told.tokens;
  return (
    <div className="sheet search-cost">
      <div className="row apart">
        <h2>Tokens</h2>
        <span>
          <b className="search-big">{number(top)}</b> <span className="quiet">of {number(all)}</span>
        </span>
      </div>
      <StackedBar
        name="Tokens of what is found against all tools"
        total={all}
        parts={[
          { id: "top", label: `the best ${told.hits.length}`, value: top, tone: "plot-1" },
          { id: "rest", label: `the other ${allTools - told.hits.length}`, value: Math.max(all - top, 0), tone: "gone" },
        ]}
      />
    </div>
  );
}

export function Hits({
  told,
  expected,
  onExpect,
}: {
  told: Playground;
  expected: readonly string[];
  onExpect: (id: string, on: boolean) => void;
}): ReactElement {
  const most = longest(told.hits);
  const base = told.hits[0]?.stack[BASE];
  if (told.hits.length === 0) {
    return (
      <EmptyState icon="search" title="No open tool fits">
        {told.lockedCount > 0 ? `${count(told.lockedCount, "locked tool")} would: see below why.` : "Try other words, or another caller."}
      </EmptyState>
    );
  }
  return (
    <section className="sheet search-sheet" aria-label="Results">
      <div className="row apart search-legend">
        <h2>
          {told.matched > told.hits.length ? `The best ${told.hits.length} of ${number(told.matched)} that fit` : `${count(told.matched, "tool")} fit`}
        </h2>
        <span className="legend">
          {shown(told.hits).map((part) => (
            <span key={part.id}>
              <i className={`fill-${part.tone}`} aria-hidden="true" />
              {part.label}
            </span>
          ))}
        </span>
      </div>
      <ol className="search-hits">
        {told.hits.map((hit, at) => (
          <li key={hit.id}>
            <span className="search-rank quiet">{at + 1}</span>
            <span className="search-name">
              <Link to="/tool" query={{ id: hit.id }} className="mono wrap-any" title={hit.id}>
                {hit.name}
              </Link>
              <span className="search-met">
                {hit.words.map((word) => (
                  <Tag key={word}>{word}</Tag>
                ))}
              </span>
            </span>
            <span className="search-bar">
              <StackedBar name={`What the score of ${hit.name} is made of`} parts={partsOf(hit)} total={most} legend={false} show={score} />
            </span>
            <span className="search-score" title="The score: the parts and what every tool starts with, together">
              {score(hit.score)}
            </span>
            <span className="search-tokens quiet">{count(hit.tokens, "token")}</span>
            <span className="search-expect">
              <Check label={<span className="search-expected">expected<span className="unseen"> {hit.name}</span></span>} on={expected.includes(hit.id)} onChange={(on) => onExpect(hit.id, on)} />
            </span>
          </li>
        ))}
      </ol>
      <p className="quiet small">
        Ranked by {told.ranker === "hybrid" ? "words and meaning" : "words"}
        {base !== undefined && `; every tool starts with ${score(base)}`}.
      </p>
    </section>
  );
}

export function Locked({ told }: { told: Playground }): ReactElement | null {
  if (told.lockedCount === 0) return null;
  return (
    <section className="sheet search-sheet" aria-label="Left out because they are locked">
      <h2>Left out because {told.lockedCount === 1 ? "it is" : "they are"} locked</h2>
      <ul className="search-locked">
        {told.locked.map((tool) => (
          <li key={tool.id}>
            <div className="row apart">
              <Link to="/tool" query={{ id: tool.id, tab: "why" }} className="mono wrap-any">
                {tool.id}
              </Link>
              <StateWords state={tool.state}>{tool.status.replaceAll("_", " ")}</StateWords>
            </div>
            <p className="wrap-any">{tool.sentence}</p>
            <p className="quiet small wrap-any">
              {tool.remedy}
              {tool.more > 0 && ` And ${count(tool.more, "reason")} more.`}
            </p>
          </li>
        ))}
      </ul>
      {told.lockedCount > told.locked.length && <p className="quiet small">And {number(told.lockedCount - told.locked.length)} more.</p>}
    </section>
  );
}
