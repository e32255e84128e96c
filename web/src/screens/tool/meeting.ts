/** A draft of one person and what another saved under it: field by field, so that neither is lost. */
import { begun, isOwn, NOTHING, type ArgumentEdit, type Edit } from "./editing";
import type { Said } from "./told";

/** What was said, and the version of the policy at which it was. */
export type Base = { readonly said: readonly Said[]; readonly version: number };

/** What a person wrote and has not saved, and what it stands on. */
export type Draft = { readonly base: Base; readonly edit: Edit };

/** One field that somebody else changed since the draft began. An argument is one field: it is saved as a whole. */
export type Moved = {
  readonly field: string;
  readonly label: string;
  readonly was: string;
  readonly is: string;
  /** What the draft says of it; nothing where the draft left it alone or says the same. */
  readonly mine: string | null;
  readonly by: string | null;
};

type Part = { readonly field: string; readonly label: string; readonly words: (edit: Edit) => string };

const EMPTY = "as it is without an override";
const CONFIRM: Readonly<Record<Edit["confirm"], string>> = { "": EMPTY, yes: "ask a person before each call", no: "do not ask" };
const CONFIRMED_AT: Readonly<Record<Edit["confirmation"], string>> = { "": EMPTY, in_client: "the client", ticket: "a ticket" };

function parts(names: readonly string[]): readonly Part[] {
  return [
    { field: "name_override", label: "Name for people", words: (edit) => told(edit.name) },
    { field: "description_override", label: "Description", words: (edit) => told(edit.description) },
    { field: "requires_confirmation", label: "Before a call", words: (edit) => CONFIRM[edit.confirm] },
    { field: "confirmation", label: "Confirmed at", words: (edit) => CONFIRMED_AT[edit.confirmation] },
    { field: "renderer", label: "Shown as", words: (edit) => ofRenderer(edit) },
    ...names.map((name) => ({ field: `arguments.${name}`, label: name, words: (edit: Edit) => ofArgument(edit.arguments[name] ?? NOTHING) })),
  ];
}

function told(text: string): string {
  return text.trim() === "" ? EMPTY : `“${text.trim()}”`;
}

function ofRenderer(edit: Edit): string {
  if (edit.renderer === "") return EMPTY;
  return (edit.config ?? "").trim() === "" ? edit.renderer : `${edit.renderer} with ${(edit.config ?? "").replace(/\s+/g, " ")}`;
}

function ofArgument(one: ArgumentEdit): string {
  const words = [
    one.how === "hide" ? "hidden" : one.how === "pin" ? (one.pin.trim() === "" ? "pinned" : `pinned to ${one.pin.trim()}`) : "",
    one.description.trim() === "" ? "" : `in the words “${one.description.trim()}”`,
    one.fallback === undefined ? "" : `with the default ${JSON.stringify(one.fallback)}`,
  ].filter((each) => each !== "");
  return words.length === 0 ? EMPTY : words.join(", ");
}

function about(said: readonly Said[], target: string, field: string): readonly Said[] {
  return said.filter((each) => isOwn(each, target) && (each.field === field || each.field.startsWith(`${field}.`)));
}

/** A pinned value is never shown, so who said it when stands for it. */
function mark(said: readonly Said[]): string {
  return said.some((each) => each.field.endsWith(".pin")) ? JSON.stringify(said.map((each) => each.from)) : "";
}

/** What lies between what the draft stands on and what holds now. */
export function moved(draft: Draft, now: Base, target: string, names: readonly string[]): readonly Moved[] {
  const before = begun(draft.base.said, target, names);
  const after = begun(now.said, target, names);
  return parts(names).flatMap(({ field, label, words }) => {
    const [old, fresh] = [about(draft.base.said, target, field), about(now.said, target, field)];
    const [was, is, mine] = [words(before), words(after), words(draft.edit)];
    const anew = mark(old) !== mark(fresh) && mark(fresh) !== "";
    if (was === is && !anew) return [];
    const origin = fresh.map((each) => each.from).find((from) => from?.kind === "installed");
    const stated = was === is ? `${is}, to another value` : is;
    const touched = mine !== was && (mine !== is || anew);
    return [{ field, label, was, is: stated, mine: touched ? mine : null, by: origin?.kind === "installed" ? origin.by : null }];
  });
}

/** The draft upon what holds now: theirs where it left a field alone or gives way, mine where it is kept. */
export function met(draft: Draft, now: Base, target: string, names: readonly string[], kept: ReadonlySet<string>): Draft {
  const after = begun(now.said, target, names);
  const found = new Map(moved(draft, now, target, names).map((each) => [each.field, each]));
  const theirs = (field: string): boolean => found.has(field) && !(found.get(field)?.mine !== null && kept.has(field));
  return {
    base: now,
    edit: {
      name: theirs("name_override") ? after.name : draft.edit.name,
      description: theirs("description_override") ? after.description : draft.edit.description,
      confirm: theirs("requires_confirmation") ? after.confirm : draft.edit.confirm,
      confirmation: theirs("confirmation") ? after.confirmation : draft.edit.confirmation,
      renderer: theirs("renderer") ? after.renderer : draft.edit.renderer,
      config: theirs("renderer") ? after.config : draft.edit.config,
      arguments: Object.fromEntries(
        names.map((name) => [name, (theirs(`arguments.${name}`) ? after : draft.edit).arguments[name] ?? NOTHING]),
      ),
    },
  };
}
