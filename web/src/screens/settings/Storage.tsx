/** Where decisions and activity are kept, how it fares, what is kept of a call, and what runs here. */
import type { ReactElement } from "react";
import { useAnswer } from "@/api/answers";
import { bytes, count, number } from "@/lib/words";
import { Answered, Notice, Skeleton, StateMark, Time } from "@/parts";
import { SettingRow, type SettingsAnswer } from "./Setting";

const KEEPING = ["store", "audit.keep_days", "audit.keep_rows", "audit.arguments", "audit.results", "redact"];

export function Storage(): ReactElement {
  const settings = useAnswer<SettingsAnswer>(["settings", "policy"], "/settings");
  return (
    <Answered of={settings} waiting={<Skeleton lines={12} height={40} />}>
      {(answer) => (
        <div className="stack">
          <div className="split">
            <Health storage={answer.storage} />
            <Running answer={answer} />
          </div>
          <section className="sheet settings-part" aria-label="Kept and left out">
            <h2>What is kept of a call, and what is left out</h2>
            <ul>
              {answer.settings
                .filter(({ key }) => KEEPING.includes(key))
                .map((each) => (
                  <SettingRow key={each.key} setting={each} of={answer} />
                ))}
            </ul>
          </section>
          <section className="sheet settings-part" aria-label="Trust">
            <h2>How far a new server is trusted</h2>
            <ul>
              <SettingRow setting={answer.trust} of={answer} />
            </ul>
          </section>
        </div>
      )}
    </Answered>
  );
}

function Health({ storage }: { storage: SettingsAnswer["storage"] }): ReactElement {
  const kept = [
    storage.keepDays === null ? null : count(storage.keepDays, "day"),
    storage.keepRows === null ? null : `${number(storage.keepRows)} records`,
  ].filter((each) => each !== null);
  return (
    <section className="sheet stack" aria-label="Storage">
      <h2 className="row">
        Storage <StateMark state={storage.healthy ? "open" : "broken"} word="none" /> <span className="quiet">{storage.healthy ? "healthy" : "does not answer"}</span>
      </h2>
      {storage.healthy ? <p>{storage.sentence}</p> : <Notice tone="broken">{storage.sentence}</Notice>}
      <Pairs
        of={[
          ["Where", <code className="wrap-any">{storage.url}</code>],
          ["Engine", storage.engine === null ? null : `${storage.engine} ${storage.version ?? ""}`],
          ["Schema", storage.revision],
          ["Size", storage.bytes === null ? null : bytes(storage.bytes)],
          ["Records", storage.calls === null ? null : number(storage.calls)],
          ["Oldest", storage.calls === 0 || storage.oldestCall === null ? null : <Time at={storage.oldestCall} />],
          ["Kept for", kept.length === 0 ? null : kept.join(", at most ")],
          ["Arguments", storage.recordsArguments === null ? null : storage.recordsArguments ? "recorded" : "not recorded"],
          ["Results", storage.recordsResults === null ? null : storage.recordsResults ? "recorded" : "not recorded"],
          ["Lost", storage.droppedRecords === 0 ? null : `${count(storage.droppedRecords, "record")} could not be written`],
        ]}
      />
    </section>
  );
}

function Running({ answer }: { answer: SettingsAnswer }): ReactElement {
  const { versions, places } = answer;
  return (
    <section className="sheet stack" aria-label="Versions">
      <h2>What runs here</h2>
      <Pairs
        of={[
          ["Pegboard", versions.pegboard],
          ["Python", versions.python],
          ["MCP library", versions.mcp],
          ["Machine", <span className="wrap-any">{versions.platform}</span>],
          ["Policy", `version ${answer.policyVersion}`],
          ["File", <Place of={places.config} none="none: everything is decided here" />],
          ["Folder", <Place of={places.dataDir} none="none" />],
        ]}
      />
    </section>
  );
}

function Place({ of, none }: { of: SettingsAnswer["places"]["config"]; none: string }): ReactElement {
  if (of.path === null) return <span className="quiet">{none}</span>;
  return (
    <>
      <code className="wrap-any">{of.path}</code> <span className="quiet small">{of.origin === "default" ? "by default" : `from the ${of.origin}`}</span>
    </>
  );
}

function Pairs({ of }: { of: readonly (readonly [string, ReactElement | string | null])[] }): ReactElement {
  return (
    <dl className="pairs">
      {of
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
