/** Characters that draw nothing, or that draw others elsewhere: what a person reads must be what is there. Which those are
 * is told by `core/characters.py`, from which the build writes `characters.ts`. */
import { NAMES, PROSE, STRICT } from "./characters";

export interface Run {
  readonly text: string;
  /** Whether the text is the name of a character that cannot be seen. */
  readonly hidden: boolean;
}

function name(letter: string): string {
  return `U+${(letter.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
}

/** The text in runs: as it is, and by name what would not be seen. In prose, emoji and scripts that are written with joiners
 * are left alone; strictly, which is for names and for what a person decides on, nothing is. Of a line that stands `alone`, spaces
 * at either end are shown too. */
export function runs(text: string, strictly = false, alone = strictly): readonly Run[] {
  const found: Run[] = [];
  let at = 0;
  const pattern = !strictly ? PROSE : alone && !text.includes("\n") ? NAMES : STRICT;
  for (const match of text.matchAll(pattern)) {
    if (match.index > at) found.push({ text: text.slice(at, match.index), hidden: false });
    found.push({ text: name(match[0]), hidden: true });
    at = match.index + match[0].length;
  }
  if (at < text.length || found.length === 0) found.push({ text: text.slice(at), hidden: false });
  return found;
}

/** The same in one text, where no marks can be set: `[U+202E]`. */
export function written(text: string, strictly = false, alone = strictly): string {
  return runs(text, strictly, alone)
    .map((run) => (run.hidden ? `[${run.text}]` : run.text))
    .join("");
}
