/** What happened in numbers: calls a minute, how long they took, how they ended, what they weighed, and what was saved. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useEffect, useId, useRef, type ReactElement } from "react";
import { ask } from "@/api/client";
import type { Problem } from "@/api/problem";
import { queryText, type Query } from "@/lib/place";
import { bytes, count, number, span } from "@/lib/words";
import { Answered, ColumnPlot, LinePlot, Notice, Skeleton, StackedBar, type Part, type Tone } from "@/parts";
import { bucketLabel, outcomeWord } from "./outcomes";
import type { Summary } from "./shapes";

export const WINDOWS = [
  { value: "900", label: "15 minutes", buckets: 60 },
  { value: "3600", label: "hour", buckets: 60 },
  { value: "86400", label: "day", buckets: 96 },
  { value: "604800", label: "week", buckets: 84 },
] as const;

export const USUAL_WINDOW = "3600";
const PAUSE = 2000;

/** Asked again when something came, but not for every call: a busy gateway has hundreds a second. */
function useSummary(query: Query, pulse: number): ReturnType<typeof useQuery<Summary, Problem>> {
  const told = useQuery<Summary, Problem>({
    queryKey: [[], "/activity/summary", queryText(query)],
    queryFn: ({ signal }) => ask<Summary>("/activity/summary", { query, signal }),
    placeholderData: keepPreviousData,
    refetchInterval: 30_000,
  });
  const { refetch } = told;
  const waiting = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => {
    if (pulse === 0 || waiting.current !== undefined) return;
    waiting.current = setTimeout(() => {
      waiting.current = undefined;
      void refetch();
    }, PAUSE);
  }, [pulse, refetch]);
  useEffect(() => () => clearTimeout(waiting.current), []);
  return told;
}

export function Plots({ query, window, pulse }: { query: Query; window: string; pulse: number }): ReactElement {
  const chosen = WINDOWS.find((each) => each.value === window) ?? WINDOWS[1];
  const summary = useSummary({ ...query, window: chosen.value, buckets: chosen.buckets }, pulse);
  return (
    <section className="activity-plots" aria-label={`The last ${chosen.label} in numbers`}>
      <Answered of={summary} waiting={<Skeleton lines={3} height={80} />}>
        {(told) => <Told told={told} label={chosen.label} />}
      </Answered>
    </section>
  );
}

function Told({ told, label }: { told: Summary; label: string }): ReactElement {
  const at = told.buckets.map((bucket) => bucketLabel(bucket.at, told.bucketSeconds));
  const minutes = told.bucketSeconds / 60;
  const each = (of: (bucket: Summary["buckets"][number]) => number | null): readonly (number | null)[] => told.buckets.map(of);
  const rate = (value: number): string => (value < 10 ? String(Math.round(value * 10) / 10) : number(value));
  const { total } = told;
  return (
    <>
      {!told.complete && <Notice tone="wants">More was called in this time than is looked at: the latest 200,000 records are told of.</Notice>}
      <div className="activity-row is-plots" tabIndex={0} role="group" aria-label="Plots">
        <ColumnPlot
          name="Calls a minute"
          at={at}
          height={120}
          show={rate}
          series={[
            { id: "calls", label: "reached a tool", tone: "open", values: each((bucket) => bucket.calls / minutes) },
            { id: "refusals", label: "refused", tone: "locked", values: each((bucket) => bucket.refusals / minutes) },
          ]}
        />
        <LinePlot
          name="Time a call took"
          at={at}
          height={120}
          show={span}
          band
          lines={[
            { id: "p50", label: "p50", tone: "plot-1", values: each((bucket) => bucket.p50Ms) },
            { id: "p95", label: "p95", tone: "plot-2", values: each((bucket) => bucket.p95Ms) },
          ]}
        />
        <ColumnPlot
          name="Bytes"
          at={at}
          height={120}
          show={bytes}
          series={[
            { id: "arguments", label: "arguments", tone: "plot-1", values: each((bucket) => bucket.argumentBytes) },
            { id: "results", label: "results", tone: "plot-3", values: each((bucket) => bucket.resultBytes) },
          ]}
        />
      </div>
      <div className="activity-row is-sums">
        <div className="sheet activity-sum">
          <h2>How they ended</h2>
          {total.calls + total.refusals === 0 ? (
            <p className="quiet small">Nothing was called in the last {label}.</p>
          ) : (
            <StackedBar name="How calls ended" parts={mix(total.outcomes, told.outcomeStates)} />
          )}
        </div>
        <Saved saved={told.saved} total={total} />
      </div>
    </>
  );
}

const TONES: Readonly<Record<string, Tone>> = { cancelled: "gone" };

function mix(outcomes: Readonly<Record<string, number>>, states: Summary["outcomeStates"]): readonly Part[] {
  return Object.entries(outcomes)
    .toSorted(([, a], [, b]) => b - a)
    .map(([outcome, many]) => ({ id: outcome, label: outcomeWord(outcome), value: many, tone: TONES[outcome] ?? states[outcome] ?? "locked" }));
}

function Saved({ saved, total }: { saved: Summary["saved"]; total: Summary["total"] }): ReactElement {
  const id = useId();
  const turns = saved.parts.reduce((all, part) => all + part.turns, 0);
  return (
    <div className="sheet activity-sum">
      <div className="row apart">
        <h2>
          Tokens saved{" "}
          <span className="activity-formula">
            <button type="button" className="activity-why" aria-describedby={id}>
              how it is counted
            </button>
            <span role="tooltip" id={id} className="activity-tip">
              {saved.formula}
            </span>
          </span>
        </h2>
        <b className="activity-big">{number(saved.tokens)}</b>
      </div>
      <p className="quiet small">
        Against showing all tools, which costs {number(saved.allToolsTokens)} tokens a turn; {count(turns, "turn")} of models.
        Arguments {number(total.argumentTokens)} and results {number(total.resultTokens)} tokens.
      </p>
      {saved.parts.length > 0 && (
        <ul className="activity-savings small">
          {saved.parts.map((part) => (
            <li key={part.presentation}>
              <b>{part.presentation}</b> {number(part.turns)} × ({number(saved.allToolsTokens)} − {number(part.shownTokens)}) −{" "}
              {number(part.foundTokens)} = {number(part.savedTokens)}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
