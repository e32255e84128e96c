import { expect, test } from "vitest";
import { runs } from "./plain";

const told = (text: string): string => runs(text).map((run) => (run.hidden ? `<${run.text}>` : run.text)).join("");

test("a text without anything hidden is one run", () => {
  expect(runs("Fetch a bottle.\n\tTwice: é, 漢字, שלום.")).toEqual([{ text: "Fetch a bottle.\n\tTwice: é, 漢字, שלום.", hidden: false }]);
  expect(runs("")).toEqual([{ text: "", hidden: false }]);
});

test("what turns letters round is named where it stands", () => {
  expect(told("open \u202Etxt.exe\u202C now")).toBe("open <U+202E>txt.exe<U+202C> now");
  expect(told("\u2066a\u2069")).toBe("<U+2066>a<U+2069>");
});

test("what has no width, no form or no place is named", () => {
  expect(told("a\u200Bb\u00ADc\uFEFFd\u0007e")).toBe("a<U+200B>b<U+00AD>c<U+FEFF>d<U+0007>e");
  expect(told("hi\u{E0041}\u{E0101}")).toBe("hi<U+E0041><U+E0101>");
  expect(told("a\u200Db")).toBe("a<U+200D>b");
});

test("pictures that are joined stay whole", () => {
  expect(told("👩\u200D👧 ❤️")).toBe("👩\u200D👧 ❤️");
});
