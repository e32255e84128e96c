/** One setting: its value, what it means, where it comes from, and how it is changed or why not here. */
import { useState, type ReactElement } from "react";
import { useMay } from "@/api/session";
import { number } from "@/lib/words";
import { Button, Tag } from "@/parts";
import { ChangeSetting } from "./ChangeSetting";
import type { SettingLine, SettingsAnswer } from "./setting";

export type { SettingLine, SettingsAnswer };

export function SettingRow({ setting, of }: { setting: SettingLine; of: SettingsAnswer }): ReactElement {
  const admin = useMay("admin");
  const [changes, setChanges] = useState(false);
  const file = of.places.config.path;
  return (
    <li className="setting">
      <div className="setting-words">
        <h3 className="mono wrap-any">{setting.key}</h3>
        <p className="quiet small wrap-any">{setting.description}</p>
      </div>
      <div className="setting-value">
        <div className="row apart">
          <Value of={setting.value} />
          {admin && setting.takes !== null && of.fileDigest !== null && file !== null && (
            <>
              <Button small onClick={() => setChanges(true)}>
                Change<span className="unseen"> {setting.key}</span>
              </Button>
              {changes && <ChangeSetting setting={setting} takes={setting.takes} digest={of.fileDigest} file={file} onClose={() => setChanges(false)} />}
            </>
          )}
        </div>
        <p className="small row tight">
          <Origin setting={setting} />
          {setting.readAtStart && <Tag title="Read when the gateway starts">read at start</Tag>}
        </p>
        <p className="quiet small wrap-any">{setting.why}</p>
        {setting.variables.length > 0 && (
          <p className="row tight small">
            {setting.variables.map(({ name, set }) => (
              <Tag key={name} tone={set ? "open" : "broken"}>
                ${name} {set ? "is set" : "is not set"}
              </Tag>
            ))}
          </p>
        )}
        {setting.origin !== "default" && shown(setting.default) !== shown(setting.value) && setting.default !== null && (
          <p className="quiet small wrap-any">By default: {shown(setting.default)}</p>
        )}
      </div>
    </li>
  );
}

function Origin({ setting }: { setting: SettingLine }): ReactElement {
  if (setting.origin === "environment") return <Tag tone="wants">environment</Tag>;
  if (setting.origin === "default" || setting.file === null) return <Tag tone="locked">default</Tag>;
  return (
    <Tag tone="open" title={`${setting.file}:${setting.line}`}>
      {`${setting.file.split(/[\\/]/).at(-1)}:${setting.line}`}
    </Tag>
  );
}

function Value({ of }: { of: unknown }): ReactElement {
  if (of === null || of === undefined) return <p className="quiet">not set</p>;
  return <p className="mono wrap-any setting-shown">{shown(of)}</p>;
}

export function shown(value: unknown): string {
  if (value === null || value === undefined) return "not set";
  if (Array.isArray(value)) return value.length === 0 ? "empty" : value.map((each) => (typeof each === "string" ? each : JSON.stringify(each))).join(", ");
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "number") return Number.isInteger(value) ? number(value) : String(value);
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
