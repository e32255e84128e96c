/** What would change under another policy, as the gateway computed it. */
import type { ReactElement } from "react";
import { formatCount } from "@/lib/format";
import { Link, Notice, Tag } from "@/components";
import type { PolicyDifferenceData } from "./Policy";

type ToolChange = PolicyDifferenceData["callers"][number]["changes"][number];

export function PolicyDifference({ difference }: { difference: PolicyDifferenceData }): ReactElement {
  const callers = difference.callers.filter(({ changes: shifts }) => shifts.length > 0);
  const isEmpty = difference.changes.length === 0 && callers.length === 0 && difference.addedServers.length + difference.removedServers.length + difference.omitted.length === 0;
  if (isEmpty) return <Notice>Nothing would change: this is what holds already.</Notice>;
  return (
    <div className="stack settings-difference" role="region" aria-label="The difference">
      {difference.omitted.length > 0 && (
        <Notice tone="needs_action">
          These are about what is not on this board, and would not be kept:
          <ul className="dotted">
            {difference.omitted.map((each) => (
              <li key={each} className="wrap-any">{each}</li>
            ))}
          </ul>
        </Notice>
      )}
      {difference.changes.length > 0 && (
        <div className="stack tight">
          <h3>Decisions</h3>
          <ul className="diff-lines">
            {difference.changes.flatMap((each) => [
              ...each.removed.map((item) => <li key={`-${each.kind}${item}`}><del>{each.kind}: {item}</del></li>),
              ...each.changed.map((item) => <li key={`~${each.kind}${item}`} className="settings-changed">{each.kind}: {item}</li>),
              ...each.added.map((item) => <li key={`+${each.kind}${item}`}><ins>{each.kind}: {item}</ins></li>),
            ])}
          </ul>
        </div>
      )}
      {difference.addedServers.length > 0 && <p>New servers: {difference.addedServers.join(", ")}</p>}
      {difference.removedServers.length > 0 && <p>Servers that go: {difference.removedServers.join(", ")}</p>}
      {callers.length === 0 ? (
        <p className="muted">No tool opens or locks for anybody.</p>
      ) : (
        callers.map((caller) => (
          <div key={caller.principal} className="stack tight">
            <h3>
              For {caller.principal}: {formatCount(caller.changes.length + caller.omitted, "tool")}
            </h3>
            <ul className="stack tight">
              {caller.changes.map((change) => (
                <ToolChangeRow key={change.id} change={change} />
              ))}
              {caller.omitted > 0 && <li className="muted">and {formatCount(caller.omitted, "tool")} more</li>}
            </ul>
          </div>
        ))
      )}
    </div>
  );
}

function ToolChangeRow({ change }: { change: ToolChange }): ReactElement {
  return (
    <li className="setting-change">
      <Link to="/tool" query={{ id: change.id }} className="mono wrap-any">
        {change.id}
      </Link>
      <span className="row tight">
        <VerdictTag verdict={change.before} /> <span aria-label="becomes">→</span> <VerdictTag verdict={change.after} />
      </span>
      {change.after.message !== undefined && <span className="muted small wrap-any">{change.after.message}</span>}
    </li>
  );
}

function VerdictTag({ verdict }: { verdict: ToolChange["before"] }): ReactElement {
  return <Tag tone={verdict.verdict === "open" ? "open" : "locked"}>{verdict.verdict}</Tag>;
}
