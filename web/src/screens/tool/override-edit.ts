/** An override in the form of a form's fields, and as the changes that are sent. */
import type { OverrideEntry } from "./types";

export type ArgumentEdit = {
  readonly mode: "" | "hide" | "pin";
  /** JSON or plain text. It starts empty, because a pinned value is never shown. */
  readonly pin: string;
  readonly description: string;
  /** A saved default, which the form keeps and does not show. */
  readonly savedDefault?: unknown;
};

export type OverrideEdit = {
  readonly name: string;
  readonly description: string;
  readonly confirm: "" | "yes" | "no";
  /** Where a person confirms calls that need it. */
  readonly confirmation: "" | "in_client" | "ticket";
  /** The renderer's name; empty if this tool has no override for it. */
  readonly renderer: string;
  /** JSON as text; null if there is no configuration. */
  readonly config: string | null;
  readonly arguments: Readonly<Record<string, ArgumentEdit>>;
};

export type OverrideChanges = { readonly set: Readonly<Record<string, unknown>>; readonly clear: readonly string[] };

/** The texts that apply without an override. Entering the same text means no override. */
export type InheritedTexts = { readonly name: string; readonly description: string; readonly arguments: Readonly<Record<string, string>> };

export const NO_INHERITED_TEXTS: InheritedTexts = { name: "", description: "", arguments: {} };
export const EMPTY_ARGUMENT: ArgumentEdit = { mode: "", pin: "", description: "" };

/** Whether the entry is a person's override of exactly this tool, which is what the form edits. */
export function isOwnOverride(entry: OverrideEntry, target: string): boolean {
  return !entry.declared && !entry.manifest && entry.target === target;
}

/** The saved override as form fields. Fields without one stay empty and show the inherited text. */
export function editFromOverrides(overrides: readonly OverrideEntry[], target: string, names: readonly string[]): OverrideEdit {
  const ownValues = new Map(overrides.filter((entry) => isOwnOverride(entry, target)).map((entry) => [entry.field, entry.value]));
  const text = (field: string): string => {
    const value = ownValues.get(field);
    return typeof value === "string" ? value : "";
  };
  const confirm = ownValues.get("requires_confirmation");
  const confirmation = ownValues.get("confirmation");
  const argumentEdit = (name: string): ArgumentEdit => ({
    mode: ownValues.has(`arguments.${name}.pin`) ? "pin" : ownValues.get(`arguments.${name}.hide`) === true ? "hide" : "",
    pin: "",
    description: text(`arguments.${name}.description`),
    ...(ownValues.has(`arguments.${name}.default`) ? { savedDefault: ownValues.get(`arguments.${name}.default`) } : {}),
  });
  return {
    name: text("name_override"),
    description: text("description_override"),
    confirm: typeof confirm !== "boolean" ? "" : confirm ? "yes" : "no",
    confirmation: confirmation === "in_client" || confirmation === "ticket" ? confirmation : "",
    renderer: text("renderer"),
    config: ownValues.has("renderer_config") ? configText(ownValues.get("renderer_config")) : null,
    arguments: Object.fromEntries(names.map((name) => [name, argumentEdit(name)])),
  };
}

/** The texts of the provider, a file or a pattern, which apply if this tool has no override. */
export function inheritedTexts(overrides: readonly OverrideEntry[], target: string, offered: { readonly title: string | null; readonly description: string; readonly inputSchema: Readonly<Record<string, unknown>> }): InheritedTexts {
  const inherited = (field: string): string | null => {
    const entry = overrides.find((each) => each.field === field && !isOwnOverride(each, target));
    return typeof entry?.value === "string" ? entry.value : null;
  };
  const properties = Object.entries((offered.inputSchema["properties"] ?? {}) as Readonly<Record<string, unknown>>);
  const schemaDescription = (schema: unknown): string => {
    const text = typeof schema === "object" && schema !== null && "description" in schema ? schema.description : "";
    return typeof text === "string" ? text : "";
  };
  return {
    name: inherited("name_override") ?? offered.title ?? "",
    description: inherited("description_override") ?? offered.description,
    arguments: Object.fromEntries(properties.map(([name, schema]) => [name, inherited(`arguments.${name}.description`) ?? schemaDescription(schema)])),
  };
}

function configText(config: unknown): string {
  return typeof config !== "object" || config === null || Object.keys(config).length === 0 ? "" : JSON.stringify(config, null, 2);
}

/** Parses the configuration; empty text is an empty object. Null if it is not a JSON object. */
export function parseConfig(text: string | null): Readonly<Record<string, unknown>> | null {
  if (text === null || text.trim() === "") return {};
  try {
    const parsed = JSON.parse(text) as unknown;
    return typeof parsed === "object" && parsed !== null && !Array.isArray(parsed) ? (parsed as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

/** Shows calls as usual, whatever an inherited override says. */
export const DEFAULT_RENDERER = "default";

/** The edit with another renderer. A configuration belongs to one renderer, so it starts empty. */
export function withRenderer(edit: OverrideEdit, before: OverrideEdit, renderer: string): OverrideEdit {
  return { ...edit, renderer, config: renderer === before.renderer ? before.config : "" };
}

/** A pin is JSON; anything else is text, so that a word needs no quotes. */
export function parsePin(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

/** Arguments whose pinned value is missing: `newPins` had none before, `savedPins` have one already. A saved value is never
 * shown, and saving an argument replaces all of it. */
export function missingPins(before: OverrideEdit, after: OverrideEdit): { readonly newPins: readonly string[]; readonly savedPins: readonly string[] } {
  const missing = Object.entries(after.arguments)
    .filter(([name, edited]) => edited.mode === "pin" && edited.pin.trim() === "" && argumentChanged(before.arguments[name] ?? EMPTY_ARGUMENT, edited))
    .map(([name]) => name);
  const wasPinned = (name: string): boolean => before.arguments[name]?.mode === "pin";
  return { newPins: missing.filter((name) => !wasPinned(name)), savedPins: missing.filter(wasPinned) };
}

function argumentChanged(previous: ArgumentEdit, next: ArgumentEdit): boolean {
  return previous.mode !== next.mode || previous.description.trim() !== next.description.trim() || next.pin.trim() !== "";
}

/** The changes since the form was opened. An emptied field is cleared, and so is one that equals the inherited text. */
export function overrideChanges(before: OverrideEdit, after: OverrideEdit, inherited: InheritedTexts = NO_INHERITED_TEXTS): OverrideChanges {
  const set: Record<string, unknown> = {};
  const clear: string[] = [];
  const setText = (field: string, previous: string, next: string, inheritedText: string): void => {
    const text = next.trim() === inheritedText.trim() ? "" : next.trim();
    if (previous.trim() === text) return;
    if (text === "") clear.push(field);
    else set[field] = text;
  };
  setText("name_override", before.name, after.name, inherited.name);
  setText("description_override", before.description, after.description, inherited.description);
  if (before.confirm !== after.confirm) {
    if (after.confirm === "") clear.push("requires_confirmation");
    else set["requires_confirmation"] = after.confirm === "yes";
  }
  setText("confirmation", before.confirmation, after.confirmation, "");
  if (before.renderer !== after.renderer || (before.config ?? "").trim() !== (after.config ?? "").trim()) {
    const config = parseConfig(after.config);
    if (after.renderer !== "") {
      set["renderer"] = after.renderer;
      if (config !== null && after.renderer !== DEFAULT_RENDERER) set["renderer_config"] = config;
      else if (after.renderer === DEFAULT_RENDERER && before.config !== null) clear.push("renderer_config");
    } else {
      if (before.renderer !== "") clear.push("renderer");
      if (before.config !== null) clear.push("renderer_config");
    }
  }
  const changedArguments: Record<string, Readonly<Record<string, unknown>>> = {};
  for (const [name, edited] of Object.entries(after.arguments)) {
    const previous = before.arguments[name] ?? EMPTY_ARGUMENT;
    const next = edited.description.trim() === (inherited.arguments[name] ?? "").trim() ? { ...edited, description: "" } : edited;
    if (!argumentChanged(previous, next)) continue;
    const fields = argumentFields(next);
    if (Object.keys(fields).length > 0) changedArguments[name] = fields;
    else if (Object.keys(argumentFields(previous)).length > 0 || previous.mode === "pin") clear.push(`arguments.${name}`);
  }
  if (Object.keys(changedArguments).length > 0) set["arguments"] = changedArguments;
  return { set, clear };
}

function argumentFields(edit: ArgumentEdit): Readonly<Record<string, unknown>> {
  return {
    ...(edit.mode === "hide" ? { hide: true } : {}),
    ...(edit.mode === "pin" && edit.pin.trim() !== "" ? { pin: parsePin(edit.pin.trim()) } : {}),
    ...(edit.description.trim() === "" ? {} : { description: edit.description.trim() }),
    ...(edit.savedDefault === undefined ? {} : { default: edit.savedDefault }),
  };
}

export function hasNoChanges(changes: OverrideChanges): boolean {
  return Object.keys(changes.set).length === 0 && changes.clear.length === 0;
}
