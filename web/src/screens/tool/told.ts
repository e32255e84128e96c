/** What the routes about one tool answer. */
import type { Answer } from "@/api/types";

export type OnePeg = Answer<"/board/peg">;
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
