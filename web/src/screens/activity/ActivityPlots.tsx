/** Charts of the activity: calls per minute, durations, outcomes, sizes, and tokens saved. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useEffect, useId, useRef, type ReactElement } from "react";
import { request } from "@/api/client";
import type { Problem } from "@/api/problem";
import { queryString, type Query } from "@/lib/router";
import { formatBytes, formatCount, formatNumber, formatDuration } from "@/lib/format";
import { QueryResult, ColumnPlot, LinePlot, Notice, Skeleton, StackedBar, type BarPart, type Tone } from "@/components";
import { bucketLabel, formatOutcome } from "./outcomes";
import type { ActivitySummary } from "./types";

export const WINDOWS = [
  { value: "900", label: "15 minutes", buckets: 60 },
  { value: "3600", label: "hour", buckets: 60 },
  { value: "86400", label: "day", buckets: 96 },
  { value: "604800", label: "week", buckets: 84 },
] as const;

export const DEFAULT_WINDOW = "3600";
const REFRESH_DELAY_MS = 2000;

/** Refetched after new records, but not for each one: a busy gateway has hundreds a second. */
function useSummary(query: Query, revision: number): ReturnType<typeof useQuery<ActivitySummary, Problem>> {
  const result = useQuery<ActivitySummary, Problem>({
    queryKey: [[], "/activity/summary", queryString(query)],
    queryFn: ({ signal }) => request<ActivitySummary>("/activity/summary", { query, signal }),
    placeholderData: keepPreviousData,
    refetchInterval: 30_000,
  });
  const { refetch } = result;
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => {
    if (revision === 0 || timer.current !== undefined) return;
    timer.current = setTimeout(() => {
      timer.current = undefined;
      void refetch();
    }, REFRESH_DELAY_MS);
  }, [revision, refetch]);
  useEffect(() => () => clearTimeout(timer.current), []);
  return result;
}

export function ActivityPlots({ query, window, revision }: { query: Query; window: string; revision: number }): ReactElement {
  const activeWindow = WINDOWS.find((option) => option.value === window) ?? WINDOWS[1];
  const summaryQuery = useSummary({ ...query, window: activeWindow.value, buckets: activeWindow.buckets }, revision);
  return (
    <section className="activity-plots" aria-label={`The last ${activeWindow.label} in numbers`}>
      <QueryResult query={summaryQuery} placeholder={<Skeleton lines={3} height={80} />}>
        {(summary) => <SummaryPlots summary={summary} label={activeWindow.label} />}
      </QueryResult>
    </section>
  );
}

function SummaryPlots({ summary, label }: { summary: ActivitySummary; label: string }): ReactElement {
  const labels = summary.buckets.map((bucket) => bucketLabel(bucket.at, summary.bucketSeconds));
  const bucketMinutes = summary.bucketSeconds / 60;
  const series = (valueOf: (bucket: ActivitySummary["buckets"][number]) => number | null): readonly (number | null)[] => summary.buckets.map(valueOf);
  const formatRate = (value: number): string => (value < 10 ? String(Math.round(value * 10) / 10) : formatNumber(value));
  const { total } = summary;
  return (
    <>
      {!summary.complete && <Notice tone="needs_action">More was called in this time than is looked at: the latest 200,000 records are told of.</Notice>}
      <div className="activity-row is-plots" tabIndex={0} role="group" aria-label="Plots">
        <ColumnPlot
          name="Calls a minute"
          labels={labels}
          height={120}
          format={formatRate}
          series={[
            { id: "calls", label: "reached a tool", tone: "open", values: series((bucket) => bucket.calls / bucketMinutes) },
            { id: "refusals", label: "refused", tone: "locked", values: series((bucket) => bucket.refusals / bucketMinutes) },
          ]}
        />
        <LinePlot
          name="Time a call took"
          labels={labels}
          height={120}
          format={formatDuration}
          band
          series={[
            { id: "p50", label: "p50", tone: "plot-1", values: series((bucket) => bucket.p50Ms) },
            { id: "p95", label: "p95", tone: "plot-2", values: series((bucket) => bucket.p95Ms) },
          ]}
        />
        <ColumnPlot
          name="Bytes"
          labels={labels}
          height={120}
          format={formatBytes}
          series={[
            { id: "arguments", label: "arguments", tone: "plot-1", values: series((bucket) => bucket.argumentBytes) },
            { id: "results", label: "results", tone: "plot-3", values: series((bucket) => bucket.resultBytes) },
          ]}
        />
      </div>
      <div className="activity-row is-sums">
        <div className="sheet activity-sum">
          <h2>How they ended</h2>
          {total.calls + total.refusals === 0 ? (
            <p className="muted small">Nothing was called in the last {label}.</p>
          ) : (
            <StackedBar name="How calls ended" parts={outcomeParts(total.outcomes, summary.outcomeStates)} />
          )}
        </div>
        <SavedTokens saved={summary.savings} total={total} />
      </div>
    </>
  );
}

const OUTCOME_TONES: Readonly<Record<string, Tone>> = { cancelled: "missing" };

function outcomeParts(outcomes: Readonly<Record<string, number>>, states: ActivitySummary["outcomeStates"]): readonly BarPart[] {
  return Object.entries(outcomes)
    .toSorted(([, a], [, b]) => b - a)
    .map(([outcome, occurrences]) => ({ id: outcome, label: formatOutcome(outcome), value: occurrences, tone: OUTCOME_TONES[outcome] ?? states[outcome] ?? "locked" }));
}

function SavedTokens({ saved, total }: { saved: ActivitySummary["savings"]; total: ActivitySummary["total"] }): ReactElement {
  const id = useId();
  const turns = saved.parts.reduce((all, part) => all + part.turns, 0);
  return (
    <div className="sheet activity-sum">
      <div className="row apart">
        <h2>
          Tokens saved{" "}
          <span className="activity-formula">
            <button type="button" className="activity-formula-button" aria-describedby={id}>
              how it is counted
            </button>
            <span role="tooltip" id={id} className="activity-formula-tooltip">
              {saved.formula}
            </span>
          </span>
        </h2>
        <b className="activity-big">{formatNumber(saved.tokens)}</b>
      </div>
      <p className="muted small">
        Against showing all tools, which costs {formatNumber(saved.allToolsTokens)} tokens a turn; {formatCount(turns, "turn")} of models.
        Arguments {formatNumber(total.argumentTokens)} and results {formatNumber(total.resultTokens)} tokens.
      </p>
      {saved.parts.length > 0 && (
        <ul className="activity-savings small">
          {saved.parts.map((part) => (
            <li key={part.presentation}>
              <b>{part.presentation}</b> {formatNumber(part.turns)} × ({formatNumber(saved.allToolsTokens)} − {formatNumber(part.shownTokens)}) −{" "}
              {formatNumber(part.foundTokens)} = {formatNumber(part.savedTokens)}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
