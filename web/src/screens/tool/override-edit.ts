/** An edit of an override as a form holds it, and as the gateway is asked for it. */
import type { OverrideEntry } from "./types";

export type ArgumentEdit = {
  readonly mode: "" | "hide" | "pin";
  /** JSON or plain text. What is pinned already is never shown, so this begins empty. */
  readonly pin: string;
  readonly description: string;
  /** What was said of its default stays; the form does not show it. */
  readonly savedDefault?: unknown;
};

export type OverrideEdit = {
  readonly name: string;
  readonly description: string;
  readonly confirm: "" | "yes" | "no";
  /** Where a person confirms calls that need it. */
  readonly confirmation: "" | "in_client" | "ticket";
  /** Its name; empty where nobody said one for this very tool. */
  readonly renderer: string;
  /** JSON as text; nothing where no configuration was said. */
  readonly config: string | null;
  readonly arguments: Readonly<Record<string, ArgumentEdit>>;
};

export type OverrideChanges = { readonly set: Readonly<Record<string, unknown>>; readonly clear: readonly string[] };

/** The words that hold where a person says nothing: to write the same is to say nothing. */
export type InheritedTexts = { readonly name: string; readonly description: string; readonly arguments: Readonly<Record<string, string>> };

export const NO_INHERITED_TEXTS: InheritedTexts = { name: "", description: "", arguments: {} };
export const EMPTY_ARGUMENT: ArgumentEdit = { mode: "", pin: "", description: "" };

/** Whether it is what a person said of this very tool: what the form edits. */
export function isOwnOverride(entry: OverrideEntry, target: string): boolean {
  return !entry.declared && !entry.manifest && entry.target === target;
}

/** What a person said before, field by field; what the file says shows through where nobody said anything. */
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

/** What the provider, a file or a pattern says, where a person of this tool says nothing. */
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

/** The configuration that a text says: an empty one is that of an empty text. Nothing where it is no JSON object. */
export function parseConfig(text: string | null): Readonly<Record<string, unknown>> | null {
  if (text === null || text.trim() === "") return {};
  try {
    const parsed = JSON.parse(text) as unknown;
    return typeof parsed === "object" && parsed !== null && !Array.isArray(parsed) ? (parsed as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

/** Chosen where calls are to be shown as every other, whatever an override beneath says. */
export const DEFAULT_RENDERER = "default";

/** The edit with another renderer. A configuration is one renderer's own: another begins with none. */
export function withRenderer(edit: OverrideEdit, before: OverrideEdit, renderer: string): OverrideEdit {
  return { ...edit, renderer, config: renderer === before.renderer ? before.config : "" };
}

/** A pin is JSON; what is none is text, so that nobody has to write quotes around a word. */
export function parsePin(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

/** Arguments whose pinned value must be written: `first` where there was none, `again` where there is one that is never
 * shown, because an edit replaces all that was said of an argument. */
export function missingPins(before: OverrideEdit, after: OverrideEdit): { readonly first: readonly string[]; readonly again: readonly string[] } {
  const missing = Object.entries(after.arguments)
    .filter(([name, edited]) => edited.mode === "pin" && edited.pin.trim() === "" && argumentChanged(before.arguments[name] ?? EMPTY_ARGUMENT, edited))
    .map(([name]) => name);
  const wasPinned = (name: string): boolean => before.arguments[name]?.mode === "pin";
  return { first: missing.filter((name) => !wasPinned(name)), again: missing.filter(wasPinned) };
}

function argumentChanged(previous: ArgumentEdit, next: ArgumentEdit): boolean {
  return previous.mode !== next.mode || previous.description.trim() !== next.description.trim() || next.pin.trim() !== "";
}

/** What differs from how it began. What is emptied is unsaid, and so is what says no more than `plain`. */
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
