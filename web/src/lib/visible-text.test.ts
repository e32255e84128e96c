import { expect, test } from "vitest";
import { textRuns, withVisibleCharacters } from "./visible-text";

const visibleParts = (text: string, strictly = false): string => textRuns(text, strictly).map((run) => (run.hidden ? `<${run.text}>` : run.text)).join("");

test("a text without invisible characters is one run", () => {
  expect(textRuns("Fetch a bottle.\n\tTwice: é, 漢字, שלום.")).toEqual([{ text: "Fetch a bottle.\n\tTwice: é, 漢字, שלום.", hidden: false }]);
  expect(textRuns("")).toEqual([{ text: "", hidden: false }]);
});

test("characters that change the direction are shown by code point in place", () => {
  expect(visibleParts("open \u202Etxt.exe\u202C now")).toBe("open <U+202E>txt.exe<U+202C> now");
  expect(visibleParts("\u2066a\u2069")).toBe("<U+2066>a<U+2069>");
});

test("invisible characters are shown by code point", () => {
  expect(visibleParts("a\u200Bb\u00ADc\uFEFFd\u0007e")).toBe("a<U+200B>b<U+00AD>c<U+FEFF>d<U+0007>e");
  expect(visibleParts("hi\u{E0041}\u{E0101}")).toBe("hi<U+E0041><U+E0101>");
  expect(visibleParts("a\u200Db\u3164\u2800\u180B\uD800")).toBe("a<U+200D>b<U+3164><U+2800><U+180B><U+D800>");
});

test("prose keeps emoji and scripts with joiners", () => {
  expect(visibleParts("👩\u200D👧 ❤️ می\u200Cروم 1️⃣ Bonjour\u00A0!")).toBe("👩\u200D👧 ❤️ می\u200Cروم 1️⃣ Bonjour\u00A0!");
  expect(visibleParts("x\uFE0F 👩\u200D\u200D👧")).toBe("x<U+FE0F> 👩<U+200D><U+200D>👧");
});

test("strict text keeps no invisible character", () => {
  expect(visibleParts("👩\u200D👧 ❤️", true)).toBe("👩<U+200D>👧 ❤<U+FE0F>");
  expect(visibleParts("send_mail\u00A0\u3000", true)).toBe("send_mail<U+00A0><U+3000>");
  expect(withVisibleCharacters("a\u202Eb", true)).toBe("a[U+202E]b");
  expect(visibleParts(" a b  ", true)).toBe("<U+0020>a b<U+0020><U+0020>");
  expect(visibleParts(" a b ")).toBe(" a b ");
});
