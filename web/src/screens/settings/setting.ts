/** A setting as it is typed, and back. */
import type { Answer } from "@/api/types";

export type SettingsAnswer = Answer<"/settings">;
export type SettingLine = SettingsAnswer["settings"][number];
export type Takes = NonNullable<SettingLine["takes"]>;

/** The value as a field shows it. */
export function typed(value: unknown, takes: Takes): string {
  if (value === null || value === undefined) return takes.kind === "truth" ? "false" : "";
  if (Array.isArray(value)) return value.map(String).join("\n");
  return String(value);
}

/** What is sent: whatever does not fit is told by the gateway. */
export function meant(text: string, takes: Takes): unknown {
  const trimmed = text.trim();
  switch (takes.kind) {
    case "truth":
      return trimmed === "true";
    case "texts":
      return text
        .split("\n")
        .map((line) => line.trim())
        .filter((line) => line !== "");
    case "whole":
    case "seconds":
      return /^-?\d+(\.\d+)?$/.test(trimmed) ? Number(trimmed) : trimmed;
    case "choice":
      return trimmed;
  }
}
