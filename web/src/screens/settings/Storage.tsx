/** Where decisions and activity are stored, the store's health, the retention, and the running versions. */
import type { ReactElement } from "react";
import { useApiQuery } from "@/api/queries";
import { formatBytes, formatCount, formatNumber } from "@/lib/format";
import { QueryResult, Notice, Skeleton, StateMark, Time } from "@/components";
import { SettingRow, type SettingsAnswer } from "./SettingRow";

const RETENTION_KEYS = ["store", "audit.keep_days", "audit.keep_rows", "audit.arguments", "audit.results", "redact"];

export function Storage(): ReactElement {
  const settings = useApiQuery<SettingsAnswer>(["settings", "policy"], "/settings");
  return (
    <QueryResult query={settings} placeholder={<Skeleton lines={12} height={40} />}>
      {(response) => (
        <div className="stack">
          <div className="split">
            <StorageHealth storage={response.storage} />
            <RunningVersions response={response} />
          </div>
          <section className="sheet settings-part" aria-label="Kept and left out">
            <h2>What is kept of a call, and what is left out</h2>
            <ul>
              {response.settings
                .filter(({ key }) => RETENTION_KEYS.includes(key))
                .map((each) => (
                  <SettingRow key={each.key} setting={each} response={response} />
                ))}
            </ul>
          </section>
          <section className="sheet settings-part" aria-label="Trust">
            <h2>How far a new server is trusted</h2>
            <ul>
              <SettingRow setting={response.trust} response={response} />
            </ul>
          </section>
        </div>
      )}
    </QueryResult>
  );
}

function StorageHealth({ storage }: { storage: SettingsAnswer["storage"] }): ReactElement {
  const retention = [
    storage.keepDays === null ? null : formatCount(storage.keepDays, "day"),
    storage.keepRows === null ? null : `${formatNumber(storage.keepRows)} records`,
  ].filter((each) => each !== null);
  return (
    <section className="sheet stack" aria-label="Storage">
      <h2 className="row">
        Storage <StateMark state={storage.healthy ? "open" : "broken"} label="none" /> <span className="muted">{storage.healthy ? "healthy" : "does not answer"}</span>
      </h2>
      {storage.healthy ? <p>{storage.message}</p> : <Notice tone="broken">{storage.message}</Notice>}
      <FactList
        facts={[
          ["Where", <code className="wrap-any">{storage.url}</code>],
          ["Engine", storage.engine === null ? null : `${storage.engine} ${storage.version ?? ""}`],
          ["Schema", storage.revision],
          ["Size", storage.bytes === null ? null : formatBytes(storage.bytes)],
          ["Records", storage.calls === null ? null : formatNumber(storage.calls)],
          ["Oldest", storage.calls === 0 || storage.oldestCall === null ? null : <Time at={storage.oldestCall} />],
          ["Kept for", retention.length === 0 ? null : retention.join(", at most ")],
          ["Arguments", storage.recordsArguments === null ? null : storage.recordsArguments ? "recorded" : "not recorded"],
          ["Results", storage.recordsResults === null ? null : storage.recordsResults ? "recorded" : "not recorded"],
          ["Lost", storage.droppedRecords === 0 ? null : `${formatCount(storage.droppedRecords, "record")} could not be written`],
        ]}
      />
    </section>
  );
}

function RunningVersions({ response }: { response: SettingsAnswer }): ReactElement {
  const { versions, locations: places } = response;
  return (
    <section className="sheet stack" aria-label="Versions">
      <h2>What runs here</h2>
      <FactList
        facts={[
          ["Pegboard", versions.pegboard],
          ["Python", versions.python],
          ["MCP library", versions.mcp],
          ["Machine", <span className="wrap-any">{versions.platform}</span>],
          ["Policy", `version ${response.policyVersion}`],
          ["File", <PathValue path={places.config} fallback="none: everything is decided here" />],
          ["Folder", <PathValue path={places.dataDir} fallback="none" />],
        ]}
      />
    </section>
  );
}

function PathValue({ path, fallback }: { path: SettingsAnswer["locations"]["config"]; fallback: string }): ReactElement {
  if (path.path === null) return <span className="muted">{fallback}</span>;
  return (
    <>
      <code className="wrap-any">{path.path}</code> <span className="muted small">{path.origin === "default" ? "by default" : `from the ${path.origin}`}</span>
    </>
  );
}

function FactList({ facts }: { facts: readonly (readonly [string, ReactElement | string | null])[] }): ReactElement {
  return (
    <dl className="pairs">
      {facts
        .filter(([, value]) => value !== null)
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}
