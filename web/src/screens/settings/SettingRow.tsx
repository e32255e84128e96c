/** One setting: its value, description and origin, and a button to change it if that is possible here. */
import { useState, type ReactElement } from "react";
import { useHasScope } from "@/api/session";
import { formatNumber } from "@/lib/format";
import { Button, Tag } from "@/components";
import { ChangeSettingDialog } from "./ChangeSettingDialog";
import type { Setting, SettingsResponse } from "./setting-value";

export type { Setting as SettingLine, SettingsResponse as SettingsAnswer };

export function SettingRow({ setting, response }: { setting: Setting; response: SettingsResponse }): ReactElement {
  const isAdmin = useHasScope("admin");
  const [dialogOpen, setDialogOpen] = useState(false);
  const file = response.locations.config.path;
  return (
    <li className="setting">
      <div className="setting-text">
        <h3 className="mono wrap-any">{setting.key}</h3>
        <p className="muted small wrap-any">{setting.description}</p>
      </div>
      <div className="setting-value">
        <div className="row apart">
          <SettingValue value={setting.value} />
          {isAdmin && setting.accepts !== null && response.fileDigest !== null && file !== null && (
            <>
              <Button small onClick={() => setDialogOpen(true)}>
                Change<span className="visually-hidden"> {setting.key}</span>
              </Button>
              {dialogOpen && <ChangeSettingDialog setting={setting} type={setting.accepts} digest={response.fileDigest} file={file} onClose={() => setDialogOpen(false)} />}
            </>
          )}
        </div>
        <p className="small row tight">
          <OriginTag setting={setting} />
          {setting.requiresRestart && <Tag title="Read when the gateway starts">read at start</Tag>}
        </p>
        <p className="muted small wrap-any">{setting.changeHint}</p>
        {setting.variables.length > 0 && (
          <p className="row tight small">
            {setting.variables.map(({ name, set }) => (
              <Tag key={name} tone={set ? "open" : "broken"}>
                ${name} {set ? "is set" : "is not set"}
              </Tag>
            ))}
          </p>
        )}
        {setting.origin !== "default" && formatSetting(setting.default) !== formatSetting(setting.value) && setting.default !== null && (
          <p className="muted small wrap-any">By default: {formatSetting(setting.default)}</p>
        )}
      </div>
    </li>
  );
}

function OriginTag({ setting }: { setting: Setting }): ReactElement {
  if (setting.origin === "environment") return <Tag tone="needs_action">environment</Tag>;
  if (setting.origin === "default" || setting.file === null) return <Tag tone="locked">default</Tag>;
  return (
    <Tag tone="open" title={`${setting.file}:${setting.line}`}>
      {`${setting.file.split(/[\\/]/).at(-1)}:${setting.line}`}
    </Tag>
  );
}

function SettingValue({ value }: { value: unknown }): ReactElement {
  if (value === null || value === undefined) return <p className="muted">not set</p>;
  return <p className="mono wrap-any setting-current">{formatSetting(value)}</p>;
}

export function formatSetting(value: unknown): string {
  if (value === null || value === undefined) return "not set";
  if (Array.isArray(value)) return value.length === 0 ? "empty" : value.map((each) => (typeof each === "string" ? each : JSON.stringify(each))).join(", ");
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "number") return Number.isInteger(value) ? formatNumber(value) : String(value);
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
