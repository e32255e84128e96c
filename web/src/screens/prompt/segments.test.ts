import { expect, test } from "vitest";
import { splitBySpans } from "./segments";

test("an answer is split at the gateway's offsets for any characters", () => {
  const spans = [
    { kind: "text", start: 0, end: 2, call: null, reason: "" },
    { kind: "call", start: 2, end: 5, call: 0, reason: "" },
    { kind: "call", start: 2, end: 5, call: 1, reason: "" },
    { kind: "broken", start: 5, end: 6, call: null, reason: "no name" },
  ];
  expect(splitBySpans("🦉 abc!", spans)).toEqual([
    { kind: "text", text: "🦉 ", reason: "", calls: [] },
    { kind: "call", text: "abc", reason: "", calls: [0, 1] },
    { kind: "broken", text: "!", reason: "no name", calls: [] },
  ]);
  expect(splitBySpans("", [])).toEqual([]);
});
