/** Compares a draft with what someone else saved meanwhile, field by field, so that neither is lost. */
import { editFromOverrides, isOwnOverride, EMPTY_ARGUMENT, type ArgumentEdit, type OverrideEdit } from "./override-edit";
import type { OverrideEntry } from "./types";

/** The overrides of a tool and the policy version they were read at. */
export type BaseState = { readonly overrides: readonly OverrideEntry[]; readonly version: number };

/** Unsaved edits, and the state they are based on. */
export type Draft = { readonly base: BaseState; readonly edit: OverrideEdit };

/** A field that someone else changed since the draft began. An argument is one field, because it is saved as a whole. */
export type FieldConflict = {
  readonly field: string;
  readonly label: string;
  readonly before: string;
  readonly after: string;
  /** The draft's value; null if the draft did not touch the field or has the same value. */
  readonly mine: string | null;
  readonly by: string | null;
};

type EditField = { readonly field: string; readonly label: string; readonly describe: (edit: OverrideEdit) => string };

const NO_OVERRIDE_TEXT = "as it is without an override";
const CONFIRM_TEXTS: Readonly<Record<OverrideEdit["confirm"], string>> = { "": NO_OVERRIDE_TEXT, yes: "ask a person before each call", no: "do not ask" };
const CONFIRMED_AT_TEXTS: Readonly<Record<OverrideEdit["confirmation"], string>> = { "": NO_OVERRIDE_TEXT, in_client: "the client", ticket: "a ticket" };

function editFields(names: readonly string[]): readonly EditField[] {
  return [
    { field: "name_override", label: "Name for people", describe: (edit) => quoteText(edit.name) },
    { field: "description_override", label: "Description", describe: (edit) => quoteText(edit.description) },
    { field: "requires_confirmation", label: "Before a call", describe: (edit) => CONFIRM_TEXTS[edit.confirm] },
    { field: "confirmation", label: "Confirmed at", describe: (edit) => CONFIRMED_AT_TEXTS[edit.confirmation] },
    { field: "renderer", label: "Shown as", describe: (edit) => describeRenderer(edit) },
    ...names.map((name) => ({ field: `arguments.${name}`, label: name, describe: (edit: OverrideEdit) => describeArgument(edit.arguments[name] ?? EMPTY_ARGUMENT) })),
  ];
}

function quoteText(text: string): string {
  return text.trim() === "" ? NO_OVERRIDE_TEXT : `“${text.trim()}”`;
}

function describeRenderer(edit: OverrideEdit): string {
  if (edit.renderer === "") return NO_OVERRIDE_TEXT;
  return (edit.config ?? "").trim() === "" ? edit.renderer : `${edit.renderer} with ${(edit.config ?? "").replace(/\s+/g, " ")}`;
}

function describeArgument(argument: ArgumentEdit): string {
  const parts = [
    argument.mode === "hide" ? "hidden" : argument.mode === "pin" ? (argument.pin.trim() === "" ? "pinned" : `pinned to ${argument.pin.trim()}`) : "",
    argument.description.trim() === "" ? "" : `in the words “${argument.description.trim()}”`,
    argument.savedDefault === undefined ? "" : `with the default ${JSON.stringify(argument.savedDefault)}`,
  ].filter((each) => each !== "");
  return parts.length === 0 ? NO_OVERRIDE_TEXT : parts.join(", ");
}

function entriesForField(overrides: readonly OverrideEntry[], target: string, field: string): readonly OverrideEntry[] {
  return overrides.filter((each) => isOwnOverride(each, target) && (each.field === field || each.field.startsWith(`${field}.`)));
}

/** A pinned value is never shown, so its origin is compared instead. */
function pinIdentity(overrides: readonly OverrideEntry[]): string {
  return overrides.some((each) => each.field.endsWith(".pin")) ? JSON.stringify(overrides.map((each) => each.from)) : "";
}

/** The fields that differ between the draft's base and the current state. */
export function findConflicts(draft: Draft, current: BaseState, target: string, names: readonly string[]): readonly FieldConflict[] {
  const baseEdit = editFromOverrides(draft.base.overrides, target, names);
  const currentEdit = editFromOverrides(current.overrides, target, names);
  return editFields(names).flatMap(({ field, label, describe }) => {
    const [baseEntries, currentEntries] = [entriesForField(draft.base.overrides, target, field), entriesForField(current.overrides, target, field)];
    const [before, after, mine] = [describe(baseEdit), describe(currentEdit), describe(draft.edit)];
    const pinChanged = pinIdentity(baseEntries) !== pinIdentity(currentEntries) && pinIdentity(currentEntries) !== "";
    if (before === after && !pinChanged) return [];
    const origin = currentEntries.map((each) => each.from).find((from) => from?.kind === "installed");
    const afterText = before === after ? `${after}, to another value` : after;
    const isEdited = mine !== before && (mine !== after || pinChanged);
    return [{ field, label, before, after: afterText, mine: isEdited ? mine : null, by: origin?.kind === "installed" ? origin.by : null }];
  });
}

/** The draft on the current state: takes the other value where the draft has no edit or gives way. */
export function mergeDraft(draft: Draft, current: BaseState, target: string, names: readonly string[], keptFields: ReadonlySet<string>): Draft {
  const currentEdit = editFromOverrides(current.overrides, target, names);
  const conflicts = new Map(findConflicts(draft, current, target, names).map((each) => [each.field, each]));
  const takesTheirs = (field: string): boolean => conflicts.has(field) && !(conflicts.get(field)?.mine !== null && keptFields.has(field));
  return {
    base: current,
    edit: {
      name: takesTheirs("name_override") ? currentEdit.name : draft.edit.name,
      description: takesTheirs("description_override") ? currentEdit.description : draft.edit.description,
      confirm: takesTheirs("requires_confirmation") ? currentEdit.confirm : draft.edit.confirm,
      confirmation: takesTheirs("confirmation") ? currentEdit.confirmation : draft.edit.confirmation,
      renderer: takesTheirs("renderer") ? currentEdit.renderer : draft.edit.renderer,
      config: takesTheirs("renderer") ? currentEdit.config : draft.edit.config,
      arguments: Object.fromEntries(
        names.map((name) => [name, (takesTheirs(`arguments.${name}`) ? currentEdit : draft.edit).arguments[name] ?? EMPTY_ARGUMENT]),
      ),
    },
  };
}
