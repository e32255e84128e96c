/** One record in full: its timeline, arguments and result, and how the call would be decided now. */
import { useState, type ReactElement, type ReactNode } from "react";
import { useApiQuery } from "@/api/queries";
import { request } from "@/api/client";
import type { RenderedCall } from "@/api/types";
import { hasExactNumbers, indentJson } from "@/lib/json";
import { useParam } from "@/lib/router";
import { formatBytes, shellCommand, formatCount, formatNumber, formatDuration } from "@/lib/format";
import { QueryResult, Button, ButtonLink, Code, Drawer, Json, Link, Notice, RenderedCallView, Skeleton, StackedBar, StateMark, StateLabel, Tag, Time, ErrorMessage, type Tone } from "@/components";
import { formatOutcome, parseRecorded } from "./outcomes";
import { isCall, recordName, openRecord } from "./RecordRow";
import type { ActivityPage, ActivityRecord, ActivityRecordDetails } from "./types";

/** By record number, `?open=12`, or by call id, `?call=…`. */
export function RecordDrawer(): ReactElement | null {
  const [open] = useParam("open");
  const [call] = useParam("call");
  if (open !== "") return <RecordById key={open} recordId={open} />;
  if (call !== "") return <RecordByCall key={call} call={call} />;
  return null;
}

function RecordByCall({ call }: { call: string }): ReactElement {
  const page = useApiQuery<ActivityPage>(["activity"], "/activity", { call, limit: 1 }, { keepPrevious: false });
  const record = page.data?.activity[0];
  if (record !== undefined) return <RecordById recordId={String(record.id)} />;
  return (
    <Drawer open onClose={() => openRecord(null)} title="Call">
      <QueryResult query={page} placeholder={<Skeleton lines={12} />}>
        {() => (
          <Notice>
            There is no record of the call <code className="wrap-any">{call}</code> yet. It is written when the call has ended, and
            removed by age.
          </Notice>
        )}
      </QueryResult>
    </Drawer>
  );
}

function RecordById({ recordId: id }: { recordId: string }): ReactElement {
  const path = `/activity/${encodeURIComponent(id)}`;
  const response = useApiQuery<ActivityRecordDetails>(["policy", "board"], path, {}, { keepPrevious: false });
  return (
    <Drawer
      open
      onClose={() => openRecord(null)}
      title={
        response.data === undefined ? (
          `Record ${id}`
        ) : (
          <span className="row">
            <span className="mono">{recordName(response.data)}</span>
            {response.data.trial && <Tag>trial</Tag>}
          </span>
        )
      }
      actions={<Code text={shellCommand("pegboard", "activity", "show", id)} />}
    >
      <QueryResult query={response} placeholder={<Skeleton lines={14} />}>
        {(record) => <RecordDetails record={record} onRefresh={() => void response.refetch()} isFetching={response.isFetching} />}
      </QueryResult>
    </Drawer>
  );
}

function RecordDetails({ record, onRefresh, isFetching }: { record: ActivityRecordDetails; onRefresh: () => void; isFetching: boolean }): ReactElement {
  return (
    <div className="stack wide">
      <div className="stack">
        <div className="row apart">
          <StateLabel state={record.state}>
            <b>{formatOutcome(record.outcome)}</b>
          </StateLabel>
          <span className="muted">
            <Time at={record.at} />
            {record.kind === "call" && record.durationMs !== null && ` · ${formatDuration(record.durationMs)}`}
          </span>
        </div>
        {record.message !== "" && <p className="prewrap wrap-any activity-text">{record.message}</p>}
        <Facts record={record} />
      </div>
      {record.timeline.length > 0 && <Timeline record={record} />}
      {isCall(record) && (
        <>
          <RecordedPayload title="Arguments" text={record.arguments} size={record.argumentBytes} tokens={record.argumentTokens} setting="arguments" />
          {record.kind === "call" && <RecordedPayload title="Result" text={record.result} size={record.resultBytes} tokens={record.resultTokens} setting="results" />}
          <RenderedResult record={record} />
        </>
      )}
      {isCall(record) && <ThenAndNow record={record} onRefresh={onRefresh} isFetching={isFetching} />}
      {record.children.length > 0 && <ChildCalls records={record.children} />}
    </div>
  );
}

function Section({ title, children, action }: { title: string; children: ReactNode; action?: ReactNode }): ReactElement {
  return (
    <section className="stack" aria-label={title}>
      <div className="row apart">
        <h3>{title}</h3>
        {action}
      </div>
      {children}
    </section>
  );
}

function Facts({ record }: { record: ActivityRecordDetails }): ReactElement {
  const facts: readonly (readonly [string, ReactNode])[] = [
    ["Record", `${record.id}`],
    [
      isCall(record) ? "Tool" : "About",
      record.subject === null ? null : isCall(record) ? (
        <Link to="/tool" query={{ id: record.subject }} className="mono wrap-any">
          {record.subject}
        </Link>
      ) : (
        <span className="mono wrap-any">{record.subject}</span>
      ),
    ],
    ["Kind", formatOutcome(record.kind)],
    ["By", record.client === null ? record.principal : `${record.principal}, with ${record.client}`],
    ["Presentation", record.presentation],
    ["Policy version then", record.policyVersion === null ? null : formatNumber(record.policyVersion)],
    ["Call", record.callId === "" ? null : <span className="mono wrap-any">{record.callId}</span>],
    [
      "Called by",
      record.parentId === null ? null : (
        <Link to="/activity" query={{ call: record.parentId }} className="mono wrap-any">
          {record.parentId}
        </Link>
      ),
    ],
  ];
  return (
    <dl className="pairs">
      {facts
        .filter(([, value]) => value !== null)
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd className="wrap-any">{value}</dd>
          </div>
        ))}
    </dl>
  );
}

const TIMELINE_TONES: Readonly<Record<string, Tone>> = { gate: "plot-2", provider: "plot-1", render: "plot-3" };

function Timeline({ record }: { record: ActivityRecordDetails }): ReactElement {
  return (
    <Section title="Where the time went">
      <StackedBar
        name="Where the time went"
        format={formatDuration}
        legend={false}
        parts={record.timeline.map((step) => ({ id: step.part, label: step.part, value: step.durationMs ?? 0, tone: TIMELINE_TONES[step.part] ?? "plot-1" }))}
      />
      <ol className="activity-timeline">
        {record.timeline.map((step) => (
          <li key={step.part}>
            <i className={`fill-${TIMELINE_TONES[step.part] ?? "plot-1"}`} aria-hidden="true" />
            <b>{step.part}</b>
            <span>{step.durationMs === null ? "–" : formatDuration(step.durationMs)}</span>
            {step.message !== "" && <span className="muted small">{step.message}</span>}
          </li>
        ))}
      </ol>
    </Section>
  );
}

function RecordedPayload({
  title,
  text,
  size,
  tokens,
  setting,
}: {
  title: string;
  text: string | null;
  size: number | null;
  tokens: number | null;
  setting: string;
}): ReactElement {
  const sizes = [size === null ? null : formatBytes(size), tokens === null ? null : formatCount(tokens, "token")].filter((each) => each !== null);
  const parsed = text === null ? null : parseRecorded(text);
  return (
    <Section title={title} action={<span className="muted small">{sizes.join(" · ")}</span>}>
      {parsed === null ? (
        <p className="muted small">
          Not recorded. To keep them, redacted by rule, set <code>{setting}: true</code> under <code>audit:</code> in pegboard.yaml.
        </p>
      ) : "json" in parsed && hasExactNumbers(text ?? "") ? (
        <div className="activity-payload">
          <Json value={parsed.json} depth={3} />
        </div>
      ) : (
        <Code text={"json" in parsed ? indentJson(text ?? "") : parsed.text} />
      )}
    </Section>
  );
}

/** The recorded result in the tool's renderer. Only on request, because a page of a toolset runs then. */
function RenderedResult({ record }: { record: ActivityRecordDetails }): ReactElement | null {
  const [renderResult, setRenderResult] = useState<{ readonly rendered: RenderedCall | null } | { readonly error: unknown } | null>(null);
  const result = record.result === null ? null : parseObject(record.result);
  if (record.kind !== "call" || record.outcome !== "returned" || record.subject === null || result === null) return null;
  const render = (): void => {
    const args = record.arguments === null ? null : parseObject(record.arguments);
    const body = { tool: record.subject, arguments: args ?? {}, result };
    request<{ readonly rendered: RenderedCall | null }>("/render", { method: "POST", body })
      .then(setRenderResult)
      .catch((error: unknown) => setRenderResult({ error }));
  };
  return (
    <Section
      title="Rendered"
      action={
        <Button small onClick={renderResult === null ? render : () => setRenderResult(null)}>
          {renderResult === null ? "Show as rendered" : "Hide"}
        </Button>
      }
    >
      {renderResult === null ? null : "error" in renderResult ? (
        <ErrorMessage error={renderResult.error} />
      ) : renderResult.rendered === null ? (
        <p className="muted small">No override names a renderer for this tool.</p>
      ) : (
        <RenderedCallView call={renderResult.rendered} />
      )}
    </Section>
  );
}

function parseObject(text: string): Readonly<Record<string, unknown>> | null {
  const parsed = parseRecorded(text);
  return "json" in parsed && typeof parsed.json === "object" && parsed.json !== null && !Array.isArray(parsed.json) ? (parsed.json as Record<string, unknown>) : null;
}

function ThenAndNow({ record, onRefresh, isFetching }: { record: ActivityRecordDetails; onRefresh: () => void; isFetching: boolean }): ReactElement {
  const now = record.currentVerdict;
  return (
    <Section
      title="Then and now"
      action={
        <Button small icon="refresh" busy={isFetching} onClick={onRefresh}>
          Resolve again now
        </Button>
      }
    >
      <div className="activity-comparison">
        <div>
          <p className="muted small">Then{record.policyVersion !== null && `, at policy version ${formatNumber(record.policyVersion)}`}</p>
          <StateLabel state={record.state}>{formatOutcome(record.outcome)}</StateLabel>
        </div>
        <div>
          {now === null ? (
            <p className="muted small">Nothing to resolve: it names no tool.</p>
          ) : (
            <>
              <p className="muted small">
                Now, at policy version {formatNumber(now.policyVersion)}
                {now.samePolicy && ", the same"}
              </p>
              <p className="row tight">
                <StateMark state={now.verdict === "open" ? "open" : now.verdict === "missing" ? "missing" : "locked"} label="none" />
                <span>{now.status === null ? now.verdict : formatOutcome(now.status)}</span>
              </p>
              {now.message !== "" && <p className="wrap-any">{now.message}</p>}
              {now.remedy !== "" && <p className="muted small wrap-any">{now.remedy}</p>}
              {record.subject !== null && (
                <ButtonLink small variant="ghost" icon="tool" to="/tool" query={{ id: record.subject, tab: "why" }}>
                  Why
                </ButtonLink>
              )}
            </>
          )}
        </div>
      </div>
    </Section>
  );
}

function ChildCalls({ records }: { records: readonly ActivityRecord[] }): ReactElement {
  return (
    <Section title={`${formatCount(records.length, "call")} of this program`}>
      <ol className="activity-children">
        {records.map((record) => (
          <li key={record.id}>
            <button type="button" className="activity-child" onClick={() => openRecord(record.id)}>
              <b className="mono truncate">{recordName(record)}</b>
              <StateLabel state={record.state}>{formatOutcome(record.outcome)}</StateLabel>
              <span className="muted">{record.durationMs === null ? "" : formatDuration(record.durationMs)}</span>
            </button>
          </li>
        ))}
      </ol>
    </Section>
  );
}
