/** One record in full, beside the list: where its time went, what went in and out, and what would be decided now. */
import { useState, type ReactElement, type ReactNode } from "react";
import { useAnswer } from "@/api/answers";
import { ask } from "@/api/client";
import type { Rendered as RenderedCall } from "@/api/types";
import { hasExactNumbers, indented } from "@/lib/json";
import { useParam } from "@/lib/place";
import { bytes, command, count, number, span } from "@/lib/words";
import { Answered, Button, ButtonLink, Code, Drawer, Json, Link, Notice, Rendered, Skeleton, StackedBar, StateMark, StateWords, Tag, Time, Trouble, type Tone } from "@/parts";
import { outcomeWord, recorded } from "./outcomes";
import { isCall, nameOf, openRecord } from "./Row";
import type { ActivityPage, ActivityRecord, RecordInFull } from "./shapes";

/** By its number, `?open=12`, or by the id of its call, `?call=…`. */
export function OpenRecord(): ReactElement | null {
  const [open] = useParam("open");
  const [call] = useParam("call");
  if (open !== "") return <ByNumber key={open} number={open} />;
  if (call !== "") return <ByCall key={call} call={call} />;
  return null;
}

function ByCall({ call }: { call: string }): ReactElement {
  const found = useAnswer<ActivityPage>(["activity"], "/activity", { call, limit: 1 }, { keeps: false });
  const record = found.data?.activity[0];
  if (record !== undefined) return <ByNumber number={String(record.id)} />;
  return (
    <Drawer open onClose={() => openRecord(null)} title="Call">
      <Answered of={found} waiting={<Skeleton lines={12} />}>
        {() => (
          <Notice>
            There is no record of the call <code className="wrap-any">{call}</code> yet. It is written when the call has ended, and
            removed by age.
          </Notice>
        )}
      </Answered>
    </Drawer>
  );
}

function ByNumber({ number: id }: { number: string }): ReactElement {
  const path = `/activity/${encodeURIComponent(id)}`;
  const found = useAnswer<RecordInFull>(["policy", "board"], path, {}, { keeps: false });
  return (
    <Drawer
      open
      onClose={() => openRecord(null)}
      title={
        found.data === undefined ? (
          `Record ${id}`
        ) : (
          <span className="row">
            <span className="mono">{nameOf(found.data)}</span>
            {found.data.trial && <Tag>trial</Tag>}
          </span>
        )
      }
      actions={<Code text={command("pegboard", "activity", "show", id)} />}
    >
      <Answered of={found} waiting={<Skeleton lines={14} />}>
        {(record) => <Full record={record} onAgain={() => void found.refetch()} isAsking={found.isFetching} />}
      </Answered>
    </Drawer>
  );
}

function Full({ record, onAgain, isAsking }: { record: RecordInFull; onAgain: () => void; isAsking: boolean }): ReactElement {
  return (
    <div className="stack wide">
      <div className="stack">
        <div className="row apart">
          <StateWords state={record.state}>
            <b>{outcomeWord(record.outcome)}</b>
          </StateWords>
          <span className="quiet">
            <Time at={record.at} />
            {record.kind === "call" && record.tookMs !== null && ` · ${span(record.tookMs)}`}
          </span>
        </div>
        {record.said !== "" && <p className="prewrap wrap-any activity-words">{record.said}</p>}
        <Facts record={record} />
      </div>
      {record.timeline.length > 0 && <Timeline record={record} />}
      {isCall(record) && (
        <>
          <Kept title="Arguments" text={record.arguments} size={record.argumentBytes} tokens={record.argumentTokens} setting="arguments" />
          {record.kind === "call" && <Kept title="Result" text={record.result} size={record.resultBytes} tokens={record.resultTokens} setting="results" />}
          <AsRendered record={record} />
        </>
      )}
      {isCall(record) && <Now record={record} onAgain={onAgain} isAsking={isAsking} />}
      {record.children.length > 0 && <Children records={record.children} />}
    </div>
  );
}

function Part({ title, children, action }: { title: string; children: ReactNode; action?: ReactNode }): ReactElement {
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

function Facts({ record }: { record: RecordInFull }): ReactElement {
  const facts: readonly (readonly [string, ReactNode])[] = [
    ["Record", `${record.id}`],
    [
      isCall(record) ? "Tool" : "About",
      record.about === null ? null : isCall(record) ? (
        <Link to="/tool" query={{ id: record.about }} className="mono wrap-any">
          {record.about}
        </Link>
      ) : (
        <span className="mono wrap-any">{record.about}</span>
      ),
    ],
    ["Kind", outcomeWord(record.kind)],
    ["By", record.client === null ? record.principal : `${record.principal}, with ${record.client}`],
    ["Presentation", record.presentation],
    ["Policy version then", record.policyVersion === null ? null : number(record.policyVersion)],
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

const LAPS: Readonly<Record<string, Tone>> = { gate: "plot-2", provider: "plot-1", render: "plot-3" };

function Timeline({ record }: { record: RecordInFull }): ReactElement {
  return (
    <Part title="Where the time went">
      <StackedBar
        name="Where the time went"
        show={span}
        legend={false}
        parts={record.timeline.map((lap) => ({ id: lap.part, label: lap.part, value: lap.ms ?? 0, tone: LAPS[lap.part] ?? "plot-1" }))}
      />
      <ol className="activity-laps">
        {record.timeline.map((lap) => (
          <li key={lap.part}>
            <i className={`fill-${LAPS[lap.part] ?? "plot-1"}`} aria-hidden="true" />
            <b>{lap.part}</b>
            <span>{lap.ms === null ? "–" : span(lap.ms)}</span>
            {lap.said !== "" && <span className="quiet small">{lap.said}</span>}
          </li>
        ))}
      </ol>
    </Part>
  );
}

function Kept({
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
  const weight = [size === null ? null : bytes(size), tokens === null ? null : count(tokens, "token")].filter((each) => each !== null);
  const read = text === null ? null : recorded(text);
  return (
    <Part title={title} action={<span className="quiet small">{weight.join(" · ")}</span>}>
      {read === null ? (
        <p className="quiet small">
          Not recorded. To keep them, redacted by rule, set <code>{setting}: true</code> under <code>audit:</code> in pegboard.yaml.
        </p>
      ) : "json" in read && hasExactNumbers(text ?? "") ? (
        <div className="activity-kept">
          <Json value={read.json} depth={3} />
        </div>
      ) : (
        <Code text={"json" in read ? indented(text ?? "") : read.text} />
      )}
    </Part>
  );
}

/** The recorded result as the tool's renderer shows it now. Only on request: a page of a toolset runs then. */
function AsRendered({ record }: { record: RecordInFull }): ReactElement | null {
  const [shown, setShown] = useState<{ readonly rendered: RenderedCall | null } | { readonly error: unknown } | null>(null);
  const result = record.result === null ? null : object(record.result);
  if (record.kind !== "call" || record.outcome !== "returned" || record.about === null || result === null) return null;
  const show = (): void => {
    const args = record.arguments === null ? null : object(record.arguments);
    const body = { tool: record.about, arguments: args ?? {}, result };
    ask<{ readonly rendered: RenderedCall | null }>("/render", { method: "POST", body })
      .then(setShown)
      .catch((error: unknown) => setShown({ error }));
  };
  return (
    <Part
      title="Rendered"
      action={
        <Button small onClick={shown === null ? show : () => setShown(null)}>
          {shown === null ? "Show as rendered" : "Hide"}
        </Button>
      }
    >
      {shown === null ? null : "error" in shown ? (
        <Trouble error={shown.error} />
      ) : shown.rendered === null ? (
        <p className="quiet small">No override names a renderer for this tool.</p>
      ) : (
        <Rendered of={shown.rendered} />
      )}
    </Part>
  );
}

function object(text: string): Readonly<Record<string, unknown>> | null {
  const read = recorded(text);
  return "json" in read && typeof read.json === "object" && read.json !== null && !Array.isArray(read.json) ? (read.json as Record<string, unknown>) : null;
}

function Now({ record, onAgain, isAsking }: { record: RecordInFull; onAgain: () => void; isAsking: boolean }): ReactElement {
  const now = record.resolvedNow;
  return (
    <Part
      title="Then and now"
      action={
        <Button small icon="again" busy={isAsking} onClick={onAgain}>
          Resolve again now
        </Button>
      }
    >
      <div className="activity-then">
        <div>
          <p className="quiet small">Then{record.policyVersion !== null && `, at policy version ${number(record.policyVersion)}`}</p>
          <StateWords state={record.state}>{outcomeWord(record.outcome)}</StateWords>
        </div>
        <div>
          {now === null ? (
            <p className="quiet small">Nothing to resolve: it names no tool.</p>
          ) : (
            <>
              <p className="quiet small">
                Now, at policy version {number(now.policyVersion)}
                {now.samePolicy && ", the same"}
              </p>
              <p className="row tight">
                <StateMark state={now.verdict === "open" ? "open" : now.verdict === "gone" ? "gone" : "locked"} word="none" />
                <span>{now.status === null ? now.verdict : outcomeWord(now.status)}</span>
              </p>
              {now.sentence !== "" && <p className="wrap-any">{now.sentence}</p>}
              {now.remedy !== "" && <p className="quiet small wrap-any">{now.remedy}</p>}
              {record.about !== null && (
                <ButtonLink small look="bare" icon="tool" to="/tool" query={{ id: record.about, tab: "why" }}>
                  Why
                </ButtonLink>
              )}
            </>
          )}
        </div>
      </div>
    </Part>
  );
}

function Children({ records }: { records: readonly ActivityRecord[] }): ReactElement {
  return (
    <Part title={`${count(records.length, "call")} of this program`}>
      <ol className="activity-children">
        {records.map((record) => (
          <li key={record.id}>
            <button type="button" className="activity-child" onClick={() => openRecord(record.id)}>
              <b className="mono cut">{nameOf(record)}</b>
              <StateWords state={record.state}>{outcomeWord(record.outcome)}</StateWords>
              <span className="quiet">{record.tookMs === null ? "" : span(record.tookMs)}</span>
            </button>
          </li>
        ))}
      </ol>
    </Part>
  );
}
