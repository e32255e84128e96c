/** The history of a tool: decisions, its known definitions, and its last calls. */
import type { ReactElement } from "react";
import { useApiQuery } from "@/api/queries";
import type { ActivityRecord } from "@/api/types";
import type { Query } from "@/lib/router";
import { formatDuration } from "@/lib/format";
import { QueryResult, EmptyState, Link, SectionDiff, Skeleton, Table, Tag, Time } from "@/components";
import type { ToolHistoryResponse } from "./types";

export function ToolHistory({ id, view }: { id: string; view: Query }): ReactElement {
  const response = useApiQuery<ToolHistoryResponse>(["activity", "policy"], "/tools/history", { tool: id, ...view });
  return (
    <QueryResult query={response} placeholder={<Skeleton lines={8} height={28} />}>
      {(history) => (
        <div className="stack wide">
          <section className="stack tight">
            <h2>Definitions</h2>
            <ul className="stack tight">
              {history.specs.map((spec) => (
                <li key={spec.kind} className="row">
                  <Tag tone={spec.kind === "approved" ? "open" : "plain"}>{spec.kind}</Tag>
                  <code title={spec.fingerprint}>{spec.fingerprint.slice(0, 12)}</code>
                  <span className="muted small">
                    {spec.by !== null && (spec.firstSight ? "at first sight" : `by ${spec.by}`)} {spec.at !== null && <Time at={spec.at} />}
                  </span>
                </li>
              ))}
            </ul>
            {history.difference.map((section) => (
              <SectionDiff key={section.section} section={section} />
            ))}
          </section>
          <section className="stack tight">
            <h2>Decisions</h2>
            <DecisionList rows={[...history.decisions, ...history.providerDecisions].sort((a, b) => b.id - a.id)} />
          </section>
          <section className="stack tight">
            <h2>Last calls</h2>
            <CallTable rows={history.calls} />
          </section>
        </div>
      )}
    </QueryResult>
  );
}

function DecisionList({ rows }: { rows: readonly ActivityRecord[] }): ReactElement {
  if (rows.length === 0) return <p className="muted">Nobody decided anything about it yet.</p>;
  return (
    <ul className="decisions">
      {rows.map((row) => (
        <li key={row.id}>
          <Time at={row.at ?? ""} />
          <span className="grow wrap-any">
            <b>{row.principal}</b> {row.message}
          </span>
          <Link to="/activity" query={{ open: String(row.id) }} title="In the activity">
            {row.id}
          </Link>
        </li>
      ))}
    </ul>
  );
}

function CallTable({ rows }: { rows: readonly ActivityRecord[] }): ReactElement {
  if (rows.length === 0) {
    return (
      <EmptyState icon="activity" title="Not called yet">
        A trial counts too: it is marked as one.
      </EmptyState>
    );
  }
  return (
    <Table
      name="Last calls"
      rows={rows}
      rowKey={(row) => row.id}
      columns={[
        { id: "at", head: "When", cell: (row) => <Link to="/activity" query={{ open: String(row.id) }}><Time at={row.at ?? ""} /></Link> },
        { id: "who", head: "By", cell: (row) => row.principal },
        {
          id: "outcome",
          head: "Outcome",
          cell: (row) => (
            <span className="row tight">
              <Tag tone={row.outcome === "returned" ? "open" : row.kind === "refusal" ? "needs_action" : "broken"}>{row.outcome.replaceAll("_", " ")}</Tag>
              {row.trial && <Tag>trial</Tag>}
            </span>
          ),
        },
        { id: "took", head: "Took", end: true, cell: (row) => (row.durationMs === null ? "" : formatDuration(row.durationMs)) },
      ]}
    />
  );
}
