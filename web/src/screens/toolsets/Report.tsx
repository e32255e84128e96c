/** What an import would bring and change, as the gateway tells it. */
import type { ReactElement } from "react";
import type { Imported } from "@/api/servers";
import { count, number } from "@/lib/words";
import { Button, Notice, Tag } from "@/parts";
import { Left } from "./acting";

const COURSES: Readonly<Record<Imported["changes"]["course"], string>> = {
  first: "new here",
  same: "this version is here",
  upgrade: "a newer version",
  downgrade: "an older version",
};

export function Report({ report, busy, onDescribe }: { report: Imported; busy: boolean; onDescribe: () => void }): ReactElement {
  const { changes } = report;
  const files = Object.entries(changes.files).filter(([, many]) => many > 0);
  return (
    <div className="stack">
      <div className="row tight">
        <strong className="mono">{report.id}</strong>
        {report.version !== "" && <Tag>{report.version}</Tag>}
        <Tag tone={changes.course === "downgrade" ? "wants" : "open"}>{COURSES[changes.course]}</Tag>
      </div>
      {report.warnings.map((warning) => (
        <Notice key={warning} tone="wants">
          <span className="wrap-any">{warning}</span>
        </Notice>
      ))}
      <div>
        <h3>Differences to what is there</h3>
        {changes.lines.length === 0 ? <p className="quiet">None.</p> : <pre className="code wraps report-lines" tabIndex={0}>{changes.lines.join("\n")}</pre>}
      </div>
      <div className="thirds">
        <Parts title="Tools" parts={changes.tools} />
        <Parts title="Servers" parts={changes.servers} />
        <Parts title="Overrides" parts={changes.overrides} />
      </div>
      {files.length > 0 && <p className="small">Files: {files.map(([how, many]) => `${number(many)} ${how}`).join(", ")}.</p>}
      {report.unrun.length > 0 && (
        <Notice
          action={
            <Button small busy={busy} onClick={onDescribe}>
              Run them to see
            </Button>
          }
        >
          {count(report.unrun.length, "module")} not run yet, so what the tools are is not known: <span className="mono small wrap-any">{report.unrun.join(", ")}</span>
        </Notice>
      )}
      <Left title="Python requirements" lines={report.requirements} />
      <Left title="Secrets it asks for" lines={report.secrets.map((secret) => `${secret.name}${secret.set ? " (set)" : " (not set)"}`)} />
      {report.waits.length > 0 && (
        <Notice tone="wants">
          {count(report.waits.length, "tool")} will wait for your approval: <span className="mono small wrap-any">{report.waits.map((each) => each.id).join(", ")}</span>
        </Notice>
      )}
      {report.unconfirmedServers.length > 0 && (
        <p className="small">
          <code>requires_confirmation</code> is not said of <span className="mono wrap-any">{report.unconfirmedServers.join(", ")}</span>: nobody is asked before most calls. To be
          asked, set <code>confirmation.manifest_servers: true</code> in pegboard.yaml.
        </p>
      )}
      <Left title="Not open" lines={report.notOpen.map((each) => `${each.id}: ${each.sentence} ${each.remedy}`)} />
    </div>
  );
}

type Part = { readonly id: string; readonly how: string; readonly settings?: readonly string[] };

function Parts({ title, parts }: { title: string; parts: readonly Part[] }): ReactElement | null {
  if (parts.length === 0) return null;
  return (
    <div>
      <h3>
        {title} <span className="chip-count">{number(parts.length)}</span>
      </h3>
      <ul className="report-parts">
        {parts.map((part) => (
          <li key={part.id} className={`how-${part.how}`}>
            <Tag tone={part.how === "added" ? "open" : part.how === "removed" ? "broken" : "wants"}>{part.how}</Tag>{" "}
            {part.how === "removed" ? <del className="mono wrap-any">{part.id}</del> : <span className="mono wrap-any">{part.id}</span>}
            {part.settings !== undefined && part.settings.length > 0 && <span className="quiet small wrap-any"> {part.settings.join(", ")}</span>}
          </li>
        ))}
      </ul>
    </div>
  );
}
