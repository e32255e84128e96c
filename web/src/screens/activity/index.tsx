import { useId, useRef, type ReactElement } from "react";
import { useAnswer } from "@/api/answers";
import { route } from "@/api/client";
import { useParam } from "@/lib/place";
import { number } from "@/lib/words";
import { Button, ButtonLink, EmptyState, Field, Icon, Screen, SearchField, Select, Skeleton, Trouble, VirtualPage } from "@/parts";
import { PrincipalField } from "@/parts/PrincipalField";
import { clear, milliseconds, useFilters, type FilterName, type Filters } from "./filters";
import { outcomeWord } from "./outcomes";
import { Plots, USUAL_WINDOW, WINDOWS } from "./Plots";
import { OpenRecord } from "./Record";
import { useRecords, type Records } from "./records";
import { Row } from "./Row";
import type { ActivityRecord, Shares, Summary } from "./shapes";
import "./activity.css";

export default function ActivityScreen(): ReactElement {
  const filters = useFilters();
  const [window, setWindow] = useParam("window", USUAL_WINDOW);
  const records = useRecords(filters.query);
  return (
    <Screen
      title="Activity"
      lead="Every call, every refusal and every decision, as it happens."
      json={{ path: "/activity", query: filters.query }}
      command={filters.command}
      actions={
        <>
          <Export format="jsonl" label="JSON lines" filters={filters} />
          <Export format="csv" label="CSV" filters={filters} />
        </>
      }
    >
      <Narrowing filters={filters} window={window} onWindow={setWindow} />
      <Plots query={filters.query} window={window} pulse={records.pulse} />
      <List records={records} filters={filters} />
      <OpenRecord />
    </Screen>
  );
}

function Export({ format, label, filters }: { format: string; label: string; filters: Filters }): ReactElement {
  return (
    <a className="button look-plain" href={route("/activity/export", { ...filters.query, format })} download={`activity.${format}`}>
      <Icon name="download" />
      <span>{label}</span>
    </a>
  );
}

const KINDS = [
  { value: "", label: "Everything" },
  { value: "call", label: "Calls" },
  { value: "refusal", label: "Refusals" },
  { value: "decision", label: "Decisions" },
];

function Narrowing({ filters, window, onWindow }: { filters: Filters; window: string; onWindow: (window: string) => void }): ReactElement {
  const tools = useId();
  const known = useAnswer<Shares>([], "/activity/tools", { limit: 200 });
  const all = useAnswer<Summary>([], "/activity/summary", { window: 604_800, buckets: 1 });
  const set = {
    q: useParam("q")[1],
    tool: useParam("tool")[1],
    principal: useParam("principal")[1],
    kind: useParam("kind")[1],
    outcome: useParam("outcome")[1],
    slower: useParam("slower")[1],
  } satisfies Record<FilterName, (value: string) => void>;
  const outcomes = [...new Set([...Object.keys(all.data?.total.outcomes ?? {}), filters.outcome].filter(Boolean))];
  const unread = filters.slower !== "" && milliseconds(filters.slower) === undefined;
  return (
    <form className="activity-filters" role="search" aria-label="Filter" onSubmit={(event) => event.preventDefault()}>
      <div className="field activity-q">
        <span className="field-label" aria-hidden="true">
          Text
        </span>
        <SearchField label="Text" placeholder="In names, ids, reasons, callers" value={filters.q} onChange={set.q} maxLength={200} />
      </div>
      <Field label="Tool" value={filters.tool} onChange={set.tool} list={tools} mono placeholder="any" />
      <datalist id={tools}>
        {known.data?.shares.map((share) => (
          <option key={share.id} value={share.id} />
        ))}
      </datalist>
      <PrincipalField label="Principal" value={filters.principal} onChange={set.principal} placeholder="anybody" />
      <Select label="Kind" value={filters.kind} onChange={set.kind} choices={KINDS} />
      <Select
        label="Outcome"
        value={filters.outcome}
        onChange={set.outcome}
        choices={[{ value: "", label: "any" }, ...outcomes.map((outcome) => ({ value: outcome, label: outcomeWord(outcome) }))]}
      />
      <Field
        label="Slower than"
        value={filters.slower}
        onChange={set.slower}
        inputMode="decimal"
        placeholder="ms"
        {...(unread ? { error: "Milliseconds, such as 250." } : {})}
      />
      <Select label="In numbers" value={window} onChange={onWindow} choices={WINDOWS.map(({ value, label }) => ({ value, label: `last ${label}` }))} />
      {!filters.isPlain && (
        <div className="activity-clear">
          <Button look="bare" icon="close" onClick={clear}>
            Clear
          </Button>
        </div>
      )}
    </form>
  );
}

function isNarrow(): boolean {
  return globalThis.innerWidth <= 760;
}

function heightOf(record: ActivityRecord): number {
  if (isNarrow()) return record.said === "" ? 68 : 90;
  return record.said === "" ? 42 : 64;
}

function List({ records, filters }: { records: Records; filters: Filters }): ReactElement {
  const [open] = useParam("open");
  // While other filters are asked for, what was there stays.
  const last = useRef<readonly ActivityRecord[] | undefined>(undefined);
  if (records.rows !== undefined) last.current = records.rows;
  const rows = records.rows ?? last.current;
  if (records.error !== null && records.rows === undefined) return <Trouble error={records.error} onAgain={records.again} />;
  if (rows === undefined) return <Skeleton lines={10} height={34} />;
  if (rows.length === 0) return filters.isPlain ? <Nothing /> : <NothingFits />;
  return (
    <section aria-label="Records" aria-busy={records.rows === undefined}>
      <div className="activity-head" aria-hidden="true">
        <span>When</span>
        <span>What</span>
        <span>Who</span>
        <span>Outcome</span>
        <span className="is-end">Took</span>
        <span className="is-end">Result</span>
      </div>
      <div className="activity-list" role="list" aria-label="Records, the newest first">
        <VirtualPage rows={rows} rowKey={(record) => record.id} height={heightOf}>
          {(record) => (
            <div role="listitem">
              <Row record={record} chosen={open === String(record.id)} />
            </div>
          )}
        </VirtualPage>
      </div>
      <div className="row apart activity-end">
        <span className="quiet small">{number(rows.length)} shown</span>
        {records.hasOlder ? (
          <Button icon="down" busy={records.isAsking} onClick={records.older}>
            Older
          </Button>
        ) : (
          <span className="quiet small">That is all there is.</span>
        )}
      </div>
    </section>
  );
}

function Nothing(): ReactElement {
  return (
    <EmptyState
      icon="activity"
      title="Nothing happened yet"
      action={
        <ButtonLink look="main" icon="wall" to="/">
          Choose a tool to try
        </ButtonLink>
      }
    >
      Calls of your models appear here as they are made, and refused ones too, with the reason. Try a tool to see the first.
    </EmptyState>
  );
}

function NothingFits(): ReactElement {
  return (
    <EmptyState icon="filter" title="Nothing fits" action={<Button look="main" onClick={clear}>Clear the filters</Button>}>
      No record has all of what is asked for.
    </EmptyState>
  );
}
