/** An edit of an override as a form holds it, and as the gateway is asked for it. */
import type { Said } from "./told";

export type ArgumentEdit = {
  readonly how: "" | "hide" | "pin";
  /** JSON or plain text. What is pinned already is never shown, so this begins empty. */
  readonly pin: string;
  readonly description: string;
  /** What was said of its default stays; the form does not show it. */
  readonly fallback?: unknown;
};

export type Edit = {
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

export type Asked = { readonly set: Readonly<Record<string, unknown>>; readonly clear: readonly string[] };

/** The words that hold where a person says nothing: to write the same is to say nothing. */
export type Plain = { readonly name: string; readonly description: string; readonly arguments: Readonly<Record<string, string>> };

export const UNWORDED: Plain = { name: "", description: "", arguments: {} };
export const NOTHING: ArgumentEdit = { how: "", pin: "", description: "" };

/** Whether it is what a person said of this very tool: what the form edits. */
export function isOwn(said: Said, target: string): boolean {
  return !said.declared && !said.manifest && said.target === target;
}

/** What a person said before, field by field; what the file says shows through where nobody said anything. */
export function begun(overrides: readonly Said[], target: string, names: readonly string[]): Edit {
  const own = new Map(overrides.filter((said) => isOwn(said, target)).map((said) => [said.field, said.value]));
  const text = (field: string): string => {
    const value = own.get(field);
    return typeof value === "string" ? value : "";
  };
  const confirm = own.get("requires_confirmation");
  const confirmation = own.get("confirmation");
  const one = (name: string): ArgumentEdit => ({
    how: own.has(`arguments.${name}.pin`) ? "pin" : own.get(`arguments.${name}.hide`) === true ? "hide" : "",
    pin: "",
    description: text(`arguments.${name}.description`),
    ...(own.has(`arguments.${name}.default`) ? { fallback: own.get(`arguments.${name}.default`) } : {}),
  });
  return {
    name: text("name_override"),
    description: text("description_override"),
    confirm: typeof confirm !== "boolean" ? "" : confirm ? "yes" : "no",
    confirmation: confirmation === "in_client" || confirmation === "ticket" ? confirmation : "",
    renderer: text("renderer"),
    config: own.has("renderer_config") ? configText(own.get("renderer_config")) : null,
    arguments: Object.fromEntries(names.map((name) => [name, one(name)])),
  };
}

/** What the provider, a file or a pattern says, where a person of this tool says nothing. */
export function plainWords(overrides: readonly Said[], target: string, offered: { readonly title: string | null; readonly description: string; readonly inputSchema: Readonly<Record<string, unknown>> }): Plain {
  const below = (field: string): string | null => {
    const said = overrides.find((each) => each.field === field && !isOwn(each, target));
    return typeof said?.value === "string" ? said.value : null;
  };
  const properties = Object.entries((offered.inputSchema["properties"] ?? {}) as Readonly<Record<string, unknown>>);
  const own = (schema: unknown): string => {
    const words = typeof schema === "object" && schema !== null && "description" in schema ? schema.description : "";
    return typeof words === "string" ? words : "";
  };
  return {
    name: below("name_override") ?? offered.title ?? "",
    description: below("description_override") ?? offered.description,
    arguments: Object.fromEntries(properties.map(([name, schema]) => [name, below(`arguments.${name}.description`) ?? own(schema)])),
  };
}

function configText(config: unknown): string {
  return typeof config !== "object" || config === null || Object.keys(config).length === 0 ? "" : JSON.stringify(config, null, 2);
}

/** The configuration that a text says: an empty one is that of an empty text. Nothing where it is no JSON object. */
export function configOf(text: string | null): Readonly<Record<string, unknown>> | null {
  if (text === null || text.trim() === "") return {};
  try {
    const read = JSON.parse(text) as unknown;
    return typeof read === "object" && read !== null && !Array.isArray(read) ? (read as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

/** Chosen where calls are to be shown as every other, whatever an override beneath says. */
export const DEFAULT_RENDERER = "default";

/** The edit with another renderer. A configuration is one renderer's own: another begins with none. */
export function withRenderer(edit: Edit, before: Edit, renderer: string): Edit {
  return { ...edit, renderer, config: renderer === before.renderer ? before.config : "" };
}

/** A pin is JSON; what is none is text, so that nobody has to write quotes around a word. */
export function pinned(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

/** Arguments whose pinned value must be written: `first` where there was none, `again` where there is one that is never
 * shown, because an edit replaces all that was said of an argument. */
export function unwritten(before: Edit, after: Edit): { readonly first: readonly string[]; readonly again: readonly string[] } {
  const wanting = Object.entries(after.arguments)
    .filter(([name, now]) => now.how === "pin" && now.pin.trim() === "" && differs(before.arguments[name] ?? NOTHING, now))
    .map(([name]) => name);
  const was = (name: string): boolean => before.arguments[name]?.how === "pin";
  return { first: wanting.filter((name) => !was(name)), again: wanting.filter(was) };
}

function differs(was: ArgumentEdit, now: ArgumentEdit): boolean {
  return was.how !== now.how || was.description.trim() !== now.description.trim() || now.pin.trim() !== "";
}

/** What differs from how it began. What is emptied is unsaid, and so is what says no more than `plain`. */
export function asked(before: Edit, after: Edit, plain: Plain = UNWORDED): Asked {
  const set: Record<string, unknown> = {};
  const clear: string[] = [];
  const say = (field: string, was: string, is: string, without: string): void => {
    const now = is.trim() === without.trim() ? "" : is.trim();
    if (was.trim() === now) return;
    if (now === "") clear.push(field);
    else set[field] = now;
  };
  say("name_override", before.name, after.name, plain.name);
  say("description_override", before.description, after.description, plain.description);
  if (before.confirm !== after.confirm) {
    if (after.confirm === "") clear.push("requires_confirmation");
    else set["requires_confirmation"] = after.confirm === "yes";
  }
  say("confirmation", before.confirmation, after.confirmation, "");
  if (before.renderer !== after.renderer || (before.config ?? "").trim() !== (after.config ?? "").trim()) {
    const config = configOf(after.config);
    if (after.renderer !== "") {
      set["renderer"] = after.renderer;
      if (config !== null && after.renderer !== DEFAULT_RENDERER) set["renderer_config"] = config;
      else if (after.renderer === DEFAULT_RENDERER && before.config !== null) clear.push("renderer_config");
    } else {
      if (before.renderer !== "") clear.push("renderer");
      if (before.config !== null) clear.push("renderer_config");
    }
  }
  const said: Record<string, Readonly<Record<string, unknown>>> = {};
  for (const [name, written] of Object.entries(after.arguments)) {
    const was = before.arguments[name] ?? NOTHING;
    const now = written.description.trim() === (plain.arguments[name] ?? "").trim() ? { ...written, description: "" } : written;
    if (!differs(was, now)) continue;
    const one = argument(now);
    if (Object.keys(one).length > 0) said[name] = one;
    else if (Object.keys(argument(was)).length > 0 || was.how === "pin") clear.push(`arguments.${name}`);
  }
  if (Object.keys(said).length > 0) set["arguments"] = said;
  return { set, clear };
}

function argument(now: ArgumentEdit): Readonly<Record<string, unknown>> {
  return {
    ...(now.how === "hide" ? { hide: true } : {}),
    ...(now.how === "pin" && now.pin.trim() !== "" ? { pin: pinned(now.pin.trim()) } : {}),
    ...(now.description.trim() === "" ? {} : { description: now.description.trim() }),
    ...(now.fallback === undefined ? {} : { default: now.fallback }),
  };
}

export function isNothing(edit: Asked): boolean {
  return Object.keys(edit.set).length === 0 && edit.clear.length === 0;
}
