/** What an import would add and change, as the gateway reports it. */
import type { ReactElement } from "react";
import type { ToolsetImport } from "@/api/servers";
import { formatCount, formatNumber } from "@/lib/format";
import { Button, Notice, Tag } from "@/components";
import { TitledList } from "./toolset-actions";

const VERSION_CHANGES: Readonly<Record<ToolsetImport["changes"]["versionChange"], string>> = {
  first: "new here",
  same: "this version is here",
  upgrade: "a newer version",
  downgrade: "an older version",
};

export function ImportReport({ report, busy, onDescribe }: { report: ToolsetImport; busy: boolean; onDescribe: () => void }): ReactElement {
  const { changes } = report;
  const files = Object.entries(changes.files).filter(([, fileCount]) => fileCount > 0);
  return (
    <div className="stack">
      <div className="row tight">
        <strong className="mono">{report.id}</strong>
        {report.version !== "" && <Tag>{report.version}</Tag>}
        <Tag tone={changes.versionChange === "downgrade" ? "needs_action" : "open"}>{VERSION_CHANGES[changes.versionChange]}</Tag>
      </div>
      {report.warnings.map((warning) => (
        <Notice key={warning} tone="needs_action">
          <span className="wrap-any">{warning}</span>
        </Notice>
      ))}
      <div>
        <h3>Differences to what is there</h3>
        {changes.summary.length === 0 ? <p className="muted">None.</p> : <pre className="code wraps report-lines" tabIndex={0}>{changes.summary.join("\n")}</pre>}
      </div>
      <div className="thirds">
        <ChangedItems title="Tools" items={changes.tools} />
        <ChangedItems title="Servers" items={changes.servers} />
        <ChangedItems title="Overrides" items={changes.overrides} />
      </div>
      {files.length > 0 && <p className="small">Files: {files.map(([change, fileCount]) => `${formatNumber(fileCount)} ${change}`).join(", ")}.</p>}
      {report.modulesNotRun.length > 0 && (
        <Notice
          action={
            <Button small busy={busy} onClick={onDescribe}>
              Run them to see
            </Button>
          }
        >
          {formatCount(report.modulesNotRun.length, "module")} not run yet, so what the tools are is not known: <span className="mono small wrap-any">{report.modulesNotRun.join(", ")}</span>
        </Notice>
      )}
      <TitledList title="Python requirements" lines={report.requirements} />
      <TitledList title="Secrets it asks for" lines={report.secrets.map((secret) => `${secret.name}${secret.set ? " (set)" : " (not set)"}`)} />
      {report.newlyPending.length > 0 && (
        <Notice tone="needs_action">
          {formatCount(report.newlyPending.length, "tool")} will wait for your approval: <span className="mono small wrap-any">{report.newlyPending.map((each) => each.id).join(", ")}</span>
        </Notice>
      )}
      {report.unconfirmedServers.length > 0 && (
        <p className="small">
          <code>requires_confirmation</code> is not said of <span className="mono wrap-any">{report.unconfirmedServers.join(", ")}</span>: nobody is asked before most calls. To be
          asked, set <code>confirmation.manifest_servers: true</code> in pegboard.yaml.
        </p>
      )}
      <TitledList title="Not open" lines={report.closedTools.map((each) => `${each.id}: ${each.message} ${each.remedy}`)} />
    </div>
  );
}

type ChangedItem = { readonly id: string; readonly change: string; readonly settings?: readonly string[] };

function ChangedItems({ title, items }: { title: string; items: readonly ChangedItem[] }): ReactElement | null {
  if (items.length === 0) return null;
  return (
    <div>
      <h3>
        {title} <span className="chip-count">{formatNumber(items.length)}</span>
      </h3>
      <ul className="report-parts">
        {items.map((item) => (
          <li key={item.id} className={`change-${item.change}`}>
            <Tag tone={item.change === "added" ? "open" : item.change === "removed" ? "broken" : "needs_action"}>{item.change}</Tag>{" "}
            {item.change === "removed" ? <del className="mono wrap-any">{item.id}</del> : <span className="mono wrap-any">{item.id}</span>}
            {item.settings !== undefined && item.settings.length > 0 && <span className="muted small wrap-any"> {item.settings.join(", ")}</span>}
          </li>
        ))}
      </ul>
    </div>
  );
}
