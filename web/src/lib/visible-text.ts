/** Characters that draw nothing, or that draw others elsewhere: what a person reads must be what is there. Which those are
 * is told by `core/characters.py`, from which the build writes `characters.ts`. */
import { NAMES, PROSE, STRICT } from "./characters";

export interface TextRun {
  readonly text: string;
  /** Whether the text is the name of a character that cannot be seen. */
  readonly hidden: boolean;
}

function codePointName(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
}

/** The text in runs: as it is, and by name what would not be seen. In prose, emoji and scripts that are written with joiners
 * are left alone; strictly, which is for names and for what a person decides on, nothing is. Of a line that stands `alone`, spaces
 * at either end are shown too. */
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

/** The same in one text, where no marks can be set: `[U+202E]`. */
export function withVisibleCharacters(text: string, strict = false, standalone = strict): string {
  return textRuns(text, strict, standalone)
    .map((run) => (run.hidden ? `[${run.text}]` : run.text))
    .join("");
}
