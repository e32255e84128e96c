import type { MouseEvent, ReactElement } from "react";
import { address, amend, usePlace } from "@/lib/place";
import { bytes, span } from "@/lib/words";
import { StateWords, Tag, Time } from "@/parts";
import { outcomeWord } from "./outcomes";
import type { ActivityRecord } from "./shapes";

/** Opens a record beside the list, by the address. */
export function openRecord(id: number | null): void {
  amend((query) => {
    query.delete("call");
    if (id === null) query.delete("open");
    else query.set("open", String(id));
  });
}

export function isCall(record: ActivityRecord): boolean {
  return record.kind === "call" || record.kind === "refusal";
}

/** What a record is about, in one word. */
export function nameOf(record: ActivityRecord): string {
  return record.name ?? record.about ?? record.kind;
}

export function Row({ record, chosen }: { record: ActivityRecord; chosen: boolean }): ReactElement {
  const { query } = usePlace();
  const there = new URLSearchParams(query);
  there.delete("call");
  there.set("open", String(record.id));
  const open = (event: MouseEvent): void => {
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    openRecord(record.id);
  };
  return (
    <a
      className={`activity-record ${record.said === "" ? "" : "has-said"}`}
      href={address("/activity", there)}
      onClick={open}
      aria-current={chosen || undefined}
      data-record={record.id}
    >
      <span className="activity-at quiet">
        <Time at={record.at} />
      </span>
      <span className="activity-name">
        <b className="mono cut">{nameOf(record)}</b>
        {!isCall(record) && <Tag>{outcomeWord(record.kind)}</Tag>}
        {record.trial && <Tag>trial</Tag>}
        {record.parentId !== null && <Tag>in a program</Tag>}
      </span>
      <span className="activity-who cut quiet" title={record.client ?? undefined}>
        {record.principal}
        {record.client !== null && record.client !== record.principal ? ` · ${record.client}` : ""}
      </span>
      <span className="activity-outcome">
        <StateWords state={record.state}>{outcomeWord(record.outcome)}</StateWords>
      </span>
      <span className="activity-took">{record.tookMs === null || record.kind === "refusal" ? "" : span(record.tookMs)}</span>
      <span className="activity-bytes quiet">{record.resultBytes === null || record.kind === "refusal" ? "" : bytes(record.resultBytes)}</span>
      {record.said !== "" && <span className="activity-said cut quiet">{record.said}</span>}
    </a>
  );
}
