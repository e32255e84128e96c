/** Makes invisible and direction-changing characters visible. Which characters those are is defined in
 * `core/characters.py`, from which the build writes `characters.ts`. */
import { NAMES, PROSE, STRICT } from "./characters";

export interface TextRun {
  readonly text: string;
  /** Whether the text is the code point of an invisible character. */
  readonly hidden: boolean;
}

function codePointName(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
}

/** Splits a text into runs: visible text as it is, invisible characters by code point. Prose keeps emoji and scripts
 * that need joiners; with `strict`, for names and for what a person decides on, nothing is kept. In a `standalone`
 * line, spaces at either end are shown as well. */
export function textRuns(text: string, strict = false, standalone = strict): readonly TextRun[] {
  const result: TextRun[] = [];
  let position = 0;
  const pattern = !strict ? PROSE : standalone && !text.includes("\n") ? NAMES : STRICT;
  for (const match of text.matchAll(pattern)) {
    if (match.index > position) result.push({ text: text.slice(position, match.index), hidden: false });
    result.push({ text: codePointName(match[0]), hidden: true });
    position = match.index + match[0].length;
  }
  if (position < text.length || result.length === 0) result.push({ text: text.slice(position), hidden: false });
  return result;
}

/** The same as one string, where no markup is possible: `[U+202E]`. */
export function withVisibleCharacters(text: string, strict = false, standalone = strict): string {
  return textRuns(text, strict, standalone)
    .map((run) => (run.hidden ? `[${run.text}]` : run.text))
    .join("");
}
