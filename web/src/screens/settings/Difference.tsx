/** What would change if another policy held, as the gateway worked it out. */
import type { ReactElement } from "react";
import { count } from "@/lib/words";
import { Link, Notice, Tag } from "@/parts";
import type { PolicyDifference } from "./Policy";

type Shift = PolicyDifference["callers"][number]["shifts"][number];

export function Difference({ of }: { of: PolicyDifference }): ReactElement {
  const callers = of.callers.filter(({ shifts }) => shifts.length > 0);
  const nothing = of.changes.length === 0 && callers.length === 0 && of.newServers.length + of.goneServers.length + of.leftOut.length === 0;
  if (nothing) return <Notice>Nothing would change: this is what holds already.</Notice>;
  return (
    <div className="stack settings-difference" role="region" aria-label="The difference">
      {of.leftOut.length > 0 && (
        <Notice tone="wants">
          These are about what is not on this board, and would not be kept:
          <ul className="dotted">
            {of.leftOut.map((each) => (
              <li key={each} className="wrap-any">{each}</li>
            ))}
          </ul>
        </Notice>
      )}
      {of.changes.length > 0 && (
        <div className="stack tight">
          <h3>Decisions</h3>
          <ul className="diff-lines">
            {of.changes.flatMap((each) => [
              ...each.removed.map((what) => <li key={`-${each.kind}${what}`}><del>{each.kind}: {what}</del></li>),
              ...each.changed.map((what) => <li key={`~${each.kind}${what}`} className="settings-altered">{each.kind}: {what}</li>),
              ...each.added.map((what) => <li key={`+${each.kind}${what}`}><ins>{each.kind}: {what}</ins></li>),
            ])}
          </ul>
        </div>
      )}
      {of.newServers.length > 0 && <p>New servers: {of.newServers.join(", ")}</p>}
      {of.goneServers.length > 0 && <p>Servers that go: {of.goneServers.join(", ")}</p>}
      {callers.length === 0 ? (
        <p className="quiet">No tool opens or locks for anybody.</p>
      ) : (
        callers.map((caller) => (
          <div key={caller.principal} className="stack tight">
            <h3>
              For {caller.principal}: {count(caller.shifts.length + caller.more, "tool")}
            </h3>
            <ul className="stack tight">
              {caller.shifts.map((shift) => (
                <Shifted key={shift.id} shift={shift} />
              ))}
              {caller.more > 0 && <li className="quiet">and {count(caller.more, "tool")} more</li>}
            </ul>
          </div>
        ))
      )}
    </div>
  );
}

function Shifted({ shift }: { shift: Shift }): ReactElement {
  return (
    <li className="setting-shift">
      <Link to="/tool" query={{ id: shift.id }} className="mono wrap-any">
        {shift.id}
      </Link>
      <span className="row tight">
        <Verdict of={shift.before} /> <span aria-label="becomes">→</span> <Verdict of={shift.after} />
      </span>
      {shift.after.sentence !== undefined && <span className="quiet small wrap-any">{shift.after.sentence}</span>}
    </li>
  );
}

function Verdict({ of }: { of: Shift["before"] }): ReactElement {
  return <Tag tone={of.verdict === "open" ? "open" : "locked"}>{of.verdict}</Tag>;
}
