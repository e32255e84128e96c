import { expect, test } from "vitest";
import { toQuery, toCommandOptions, parseMilliseconds } from "./filters";

test("milliseconds are parsed as people type them", () => {
  expect(["", " 250 ", "1,5", "-1", "fast", "1e999"].map(parseMilliseconds)).toEqual([undefined, 250, 1.5, undefined, undefined, undefined]);
});

test("filters become query parameters and command options", () => {
  const emptyQuery = toQuery({ q: " note ", tool: "", principal: "ann", kind: "call", outcome: "", slower: "20" });
  expect(emptyQuery).toEqual({ q: "note", tool: "", principal: "ann", kind: "call", outcome: "", slowerThan: 20 });
  expect(toCommandOptions(emptyQuery)).toEqual(["--q", "note", "--principal", "ann", "--kind", "call", "--slower-than", "20"]);
});
