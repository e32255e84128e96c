import type { MouseEvent, ReactElement } from "react";
import { pageUrl, updateQuery, useRouteLocation } from "@/lib/router";
import { formatBytes, formatDuration } from "@/lib/format";
import { StateLabel, Tag, Time } from "@/components";
import { formatOutcome } from "./outcomes";
import type { ActivityRecord } from "./types";

/** Opens a record in the drawer, by the URL. */
export function openRecord(id: number | null): void {
  updateQuery((query) => {
    query.delete("call");
    if (id === null) query.delete("open");
    else query.set("open", String(id));
  });
}

export function isCall(record: ActivityRecord): boolean {
  return record.kind === "call" || record.kind === "refusal";
}

/** A short name for the record's subject. */
export function recordName(record: ActivityRecord): string {
  return record.name ?? record.subject ?? record.kind;
}

export function RecordRow({ record, selected }: { record: ActivityRecord; selected: boolean }): ReactElement {
  const { query } = useRouteLocation();
  const linkQuery = new URLSearchParams(query);
  linkQuery.delete("call");
  linkQuery.set("open", String(record.id));
  const open = (event: MouseEvent): void => {
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    openRecord(record.id);
  };
  return (
    <a
      className={`activity-record ${record.message === "" ? "" : "has-message"}`}
      href={pageUrl("/activity", linkQuery)}
      onClick={open}
      aria-current={selected || undefined}
      data-record={record.id}
    >
      <span className="activity-at muted">
        <Time at={record.at} />
      </span>
      <span className="activity-name">
        <b className="mono truncate">{recordName(record)}</b>
        {!isCall(record) && <Tag>{formatOutcome(record.kind)}</Tag>}
        {record.trial && <Tag>trial</Tag>}
        {record.parentId !== null && <Tag>in a program</Tag>}
      </span>
      <span className="activity-who truncate muted" title={record.client ?? undefined}>
        {record.principal}
        {record.client !== null && record.client !== record.principal ? ` · ${record.client}` : ""}
      </span>
      <span className="activity-outcome">
        <StateLabel state={record.state}>{formatOutcome(record.outcome)}</StateLabel>
      </span>
      <span className="activity-took">{record.durationMs === null || record.kind === "refusal" ? "" : formatDuration(record.durationMs)}</span>
      <span className="activity-bytes muted">{record.resultBytes === null || record.kind === "refusal" ? "" : formatBytes(record.resultBytes)}</span>
      {record.message !== "" && <span className="activity-message truncate muted">{record.message}</span>}
    </a>
  );
}
