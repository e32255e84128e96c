import { useId, useRef, type ReactElement } from "react";
import { useApiQuery } from "@/api/queries";
import { apiUrl } from "@/api/client";
import { useParam } from "@/lib/router";
import { formatNumber } from "@/lib/format";
import { Button, ButtonLink, EmptyState, Field, Icon, Screen, SearchField, Select, Skeleton, ErrorMessage, VirtualPage } from "@/components";
import { PrincipalField } from "@/components/PrincipalField";
import { clearFilters, parseMilliseconds, useFilters, type FilterName, type Filters } from "./filters";
import { formatOutcome } from "./outcomes";
import { ActivityPlots, DEFAULT_WINDOW, WINDOWS } from "./ActivityPlots";
import { RecordDrawer } from "./RecordDrawer";
import { useRecords, type Records } from "./records";
import { RecordRow } from "./RecordRow";
import type { ActivityRecord, ToolCalls, ActivitySummary } from "./types";
import "./activity.css";

export default function ActivityScreen(): ReactElement {
  const filters = useFilters();
  const [window, setWindow] = useParam("window", DEFAULT_WINDOW);
  const records = useRecords(filters.query);
  return (
    <Screen
      title="Activity"
      lead="Every call, every refusal and every decision, as it happens."
      json={{ path: "/activity", query: filters.query }}
      command={filters.command}
      actions={
        <>
          <ExportLink format="jsonl" label="JSON lines" filters={filters} />
          <ExportLink format="csv" label="CSV" filters={filters} />
        </>
      }
    >
      <FilterForm filters={filters} window={window} onWindow={setWindow} />
      <ActivityPlots query={filters.query} window={window} revision={records.revision} />
      <RecordList records={records} filters={filters} />
      <RecordDrawer />
    </Screen>
  );
}

function ExportLink({ format, label, filters }: { format: string; label: string; filters: Filters }): ReactElement {
  return (
    <a className="button variant-default" href={apiUrl("/activity/export", { ...filters.query, format })} download={`activity.${format}`}>
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

function FilterForm({ filters, window, onWindow }: { filters: Filters; window: string; onWindow: (window: string) => void }): ReactElement {
  const toolListId = useId();
  const tools = useApiQuery<ToolCalls>([], "/activity/tools", { limit: 200 });
  const summary = useApiQuery<ActivitySummary>([], "/activity/summary", { window: 604_800, buckets: 1 });
  const setters = {
    q: useParam("q")[1],
    tool: useParam("tool")[1],
    principal: useParam("principal")[1],
    kind: useParam("kind")[1],
    outcome: useParam("outcome")[1],
    slower: useParam("slower")[1],
  } satisfies Record<FilterName, (value: string) => void>;
  const outcomes = [...new Set([...Object.keys(summary.data?.total.outcomes ?? {}), filters.outcome].filter(Boolean))];
  const isInvalid = filters.slower !== "" && parseMilliseconds(filters.slower) === undefined;
  return (
    <form className="activity-filters" role="search" aria-label="Filter" onSubmit={(event) => event.preventDefault()}>
      <div className="field activity-q">
        <span className="field-label" aria-hidden="true">
          Text
        </span>
        <SearchField label="Text" placeholder="In names, ids, reasons, callers" value={filters.q} onChange={setters.q} maxLength={200} />
      </div>
      <Field label="Tool" value={filters.tool} onChange={setters.tool} list={toolListId} mono placeholder="any" />
      <datalist id={toolListId}>
        {tools.data?.shares.map((tool) => (
          <option key={tool.id} value={tool.id} />
        ))}
      </datalist>
      <PrincipalField label="Principal" value={filters.principal} onChange={setters.principal} placeholder="anybody" />
      <Select label="Kind" value={filters.kind} onChange={setters.kind} options={KINDS} />
      <Select
        label="Outcome"
        value={filters.outcome}
        onChange={setters.outcome}
        options={[{ value: "", label: "any" }, ...outcomes.map((outcome) => ({ value: outcome, label: formatOutcome(outcome) }))]}
      />
      <Field
        label="Slower than"
        value={filters.slower}
        onChange={setters.slower}
        inputMode="decimal"
        placeholder="ms"
        {...(isInvalid ? { error: "Milliseconds, such as 250." } : {})}
      />
      <Select label="In numbers" value={window} onChange={onWindow} options={WINDOWS.map(({ value, label }) => ({ value, label: `last ${label}` }))} />
      {!filters.isEmpty && (
        <div className="activity-clear">
          <Button variant="ghost" icon="close" onClick={clearFilters}>
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

function rowHeight(record: ActivityRecord): number {
  if (isNarrow()) return record.message === "" ? 68 : 90;
  return record.message === "" ? 42 : 64;
}

function RecordList({ records, filters }: { records: Records; filters: Filters }): ReactElement {
  const [openId] = useParam("open");
  // The previous rows stay while other filters load.
  const lastRows = useRef<readonly ActivityRecord[] | undefined>(undefined);
  if (records.rows !== undefined) lastRows.current = records.rows;
  const rows = records.rows ?? lastRows.current;
  if (records.error !== null && records.rows === undefined) return <ErrorMessage error={records.error} onRetry={records.retry} />;
  if (rows === undefined) return <Skeleton lines={10} height={34} />;
  if (rows.length === 0) return filters.isEmpty ? <NoActivity /> : <NoMatches />;
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
        <VirtualPage rows={rows} rowKey={(record) => record.id} height={rowHeight}>
          {(record) => (
            <div role="listitem">
              <RecordRow record={record} selected={openId === String(record.id)} />
            </div>
          )}
        </VirtualPage>
      </div>
      <div className="row apart activity-end">
        <span className="muted small">{formatNumber(rows.length)} shown</span>
        {records.hasOlder ? (
          <Button icon="down" busy={records.isLoadingOlder} onClick={records.loadOlder}>
            Older
          </Button>
        ) : (
          <span className="muted small">That is all there is.</span>
        )}
      </div>
    </section>
  );
}

function NoActivity(): ReactElement {
  return (
    <EmptyState
      icon="activity"
      title="Nothing happened yet"
      action={
        <ButtonLink variant="primary" icon="board" to="/">
          Choose a tool to try
        </ButtonLink>
      }
    >
      Calls of your models appear here as they are made, and refused ones too, with the reason. Try a tool to see the first.
    </EmptyState>
  );
}

function NoMatches(): ReactElement {
  return (
    <EmptyState icon="filter" title="Nothing fits" action={<Button variant="primary" onClick={clearFilters}>Clear the filters</Button>}>
      No record has all of what is asked for.
    </EmptyState>
  );
}
