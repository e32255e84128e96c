/** Characters that draw nothing, or that draw others elsewhere: what a person reads must be what is there. */

export interface Run {
  readonly text: string;
  /** Whether the text is the name of a character that cannot be seen. */
  readonly hidden: boolean;
}

/* Controls but for tab and line feed, soft hyphen, all of zero width and direction, fillers, tags and unusual variations. */
// eslint-disable-next-line no-control-regex
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff9-\ufffb\u{e0000}-\u{e0fff}]/u;
const PICTURE = /[\p{Extended_Pictographic}\p{Emoji_Modifier}\ufe0f]/u;
const JOINER = "\u200d";

function name(letter: string): string {
  return `U+${(letter.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
}

/** The text in runs: as it is, and by name what would not be seen. What joins two pictures into one is left alone. */
export function runs(text: string): readonly Run[] {
  const letters = [...text];
  const found: Run[] = [];
  let plain = "";
  letters.forEach((letter, at) => {
    const joins = letter === JOINER && PICTURE.test(letters[at - 1] ?? "") && PICTURE.test(letters[at + 1] ?? "");
    if (joins || !UNSEEN.test(letter)) {
      plain += letter;
      return;
    }
    if (plain !== "") found.push({ text: plain, hidden: false });
    plain = "";
    found.push({ text: name(letter), hidden: true });
  });
  if (plain !== "" || found.length === 0) found.push({ text: plain, hidden: false });
  return found;
}
