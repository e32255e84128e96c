import { expect, test } from "vitest";
import { splitBySpans } from "./segments";

test("an answer is split at the gateway's offsets for any characters", () => {
  const spans = [
    { kind: "text", start: 0, end: 2, call: null, why: "" },
    { kind: "call", start: 2, end: 5, call: 0, why: "" },
    { kind: "call", start: 2, end: 5, call: 1, why: "" },
    { kind: "broken", start: 5, end: 6, call: null, why: "no name" },
  ];
  expect(splitBySpans("🦉 abc!", spans)).toEqual([
    { kind: "text", text: "🦉 ", why: "", calls: [] },
    { kind: "call", text: "abc", why: "", calls: [0, 1] },
    { kind: "broken", text: "!", why: "no name", calls: [] },
  ]);
  expect(splitBySpans("", [])).toEqual([]);
});
