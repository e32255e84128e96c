/** Converts a setting's value to text for a form, and back. */
import type { ResponseOf } from "@/api/types";

export type SettingsResponse = ResponseOf<"/settings">;
export type Setting = SettingsResponse["settings"][number];
export type SettingType = NonNullable<Setting["accepts"]>;

/** The value as a field shows it. */
export function toText(value: unknown, type: SettingType): string {
  if (value === null || value === undefined) return type.kind === "boolean" ? "false" : "";
  if (Array.isArray(value)) return value.map(String).join("\n");
  return String(value);
}

/** The value to send; the gateway reports what does not fit. */
export function parseText(text: string, type: SettingType): unknown {
  const trimmed = text.trim();
  switch (type.kind) {
    case "boolean":
      return trimmed === "true";
    case "list":
      return text
        .split("\n")
        .map((line) => line.trim())
        .filter((line) => line !== "");
    case "integer":
    case "seconds":
      return /^-?\d+(\.\d+)?$/.test(trimmed) ? Number(trimmed) : trimmed;
    case "choice":
      return trimmed;
  }
}
