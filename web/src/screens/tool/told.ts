/** What the routes about one tool answer. */
import type { Answer } from "@/api/types";
import type { Fixed } from "@/parts";

export type Shown = Answer<"/tools/show">;
export type Spec = Shown["asOffered"];
export type Why = Answer<"/why">;
/** One field of the overrides that hold for a tool, and whose word it is. */
export type Said = Why["overrides"][number];
export type Preview = Answer<"/overrides/preview", "post">;
export type Trial = Extract<Answer<"/call", "post">, { readonly callId: string }>;
export type History = Answer<"/tools/history">;

export function originWords(said: Said): string {
  if (said.manifest) return "the toolset's own manifest";
  if (said.from === null) return "";
  return said.from.kind === "declared" ? `${said.from.file}:${said.from.line}` : said.from.by;
}

/** The same, with a file by its name alone. */
export function originShort(said: Said): string {
  return originWords(said).replace(/^.*[\\/](?=[^\\/]+:\d+$)/, "");
}

/** What pins or hides an argument in the end, if anything does. */
export function fixedBy(overrides: readonly Said[], name: string): Said | undefined {
  const said = (aspect: string): Said | undefined => overrides.find((each) => each.field === `arguments.${name}.${aspect}`);
  const hides = said("hide");
  return said("pin") ?? (hides?.value === true ? hides : undefined);
}

const MASK = "***";

/** The value as far as the gateway shows it: a reference is, any other may be a secret. */
export function pinWords(said: Said): string {
  return said.value === MASK ? "its value is not shown" : typeof said.value === "string" ? said.value : JSON.stringify(said.value);
}

/** The arguments in which callers have no say, as a form shows them: locked, with who fixed them. */
export function fixedArguments(overrides: readonly Said[]): readonly Fixed[] {
  const names = new Set(overrides.flatMap(({ field }) => /^arguments\.(.+)\.(?:pin|hide)$/s.exec(field)?.[1] ?? []));
  return [...names].flatMap((name) => {
    const said = fixedBy(overrides, name);
    if (said === undefined || !said.inForce) return [];
    const isPin = said.field.endsWith(".pin");
    const comes = said.effect ?? (isPin ? "every call is sent with it" : "no caller can send it, and the tool gets none");
    return [{ name, value: isPin ? (said.value === MASK ? "pinned, hidden" : pinWords(said)) : "hidden", words: `${isPin ? "Pinned" : "Hidden"} by ${originShort(said)}: ${comes}.` }];
  });
}
