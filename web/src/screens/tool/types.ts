/** Response types of the routes about one tool. */
import type { ResponseOf } from "@/api/types";
import type { FixedArgument } from "@/components";

export type ToolDefinitionResponse = ResponseOf<"/tools/show">;
export type ToolSpec = ToolDefinitionResponse["asOffered"];
export type WhyResponse = ResponseOf<"/why">;
/** One field of the overrides that apply to a tool, with its origin. */
export type OverrideEntry = WhyResponse["overrides"][number];
export type OverridePreview = ResponseOf<"/overrides/preview", "post">;
export type TrialResponse = Extract<ResponseOf<"/call", "post">, { readonly callId: string }>;
export type ToolHistoryResponse = ResponseOf<"/tools/history">;

export function originText(entry: OverrideEntry): string {
  if (entry.manifest) return "the toolset's own manifest";
  if (entry.from === null) return "";
  return entry.from.kind === "declared" ? `${entry.from.file}:${entry.from.line}` : entry.from.by;
}

/** The same with the file's base name. */
export function shortOrigin(entry: OverrideEntry): string {
  return originText(entry).replace(/^.*[\\/](?=[^\\/]+:\d+$)/, "");
}

/** The entry that pins or hides an argument, if there is one. */
export function fixingOverride(overrides: readonly OverrideEntry[], name: string): OverrideEntry | undefined {
  const entryFor = (aspect: string): OverrideEntry | undefined => overrides.find((each) => each.field === `arguments.${name}.${aspect}`);
  const hideEntry = entryFor("hide");
  return entryFor("pin") ?? (hideEntry?.value === true ? hideEntry : undefined);
}

const MASK = "***";

/** The value as far as it may be shown: a reference is shown, anything else may be a secret. */
export function pinText(entry: OverrideEntry): string {
  return entry.value === MASK ? "its value is not shown" : typeof entry.value === "string" ? entry.value : JSON.stringify(entry.value);
}

/** The arguments that callers cannot choose, for a form: read-only, with who fixed them. */
export function fixedArguments(overrides: readonly OverrideEntry[]): readonly FixedArgument[] {
  const names = new Set(overrides.flatMap(({ field }) => /^arguments\.(.+)\.(?:pin|hide)$/s.exec(field)?.[1] ?? []));
  return [...names].flatMap((name) => {
    const entry = fixingOverride(overrides, name);
    if (entry === undefined || !entry.effective) return [];
    const isPin = entry.field.endsWith(".pin");
    const effect = entry.effect ?? (isPin ? "every call is sent with it" : "no caller can send it, and the tool gets none");
    return [{ name, value: isPin ? (entry.value === MASK ? "pinned, hidden" : pinText(entry)) : "hidden", reason: `${isPin ? "Pinned" : "Hidden"} by ${shortOrigin(entry)}: ${effect}.` }];
  });
}
