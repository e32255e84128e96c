import { expect, test } from "vitest";
import { toQuery, toCommandOptions, parseMilliseconds } from "./filters";

test("milliseconds are read as people type them", () => {
  expect(["", " 250 ", "1,5", "-1", "fast", "1e999"].map(parseMilliseconds)).toEqual([undefined, 250, 1.5, undefined, undefined, undefined]);
});

test("what narrows is sent to the gateway and told as a command", () => {
  const emptyQuery = toQuery({ q: " note ", tool: "", principal: "ann", kind: "call", outcome: "", slower: "20" });
  expect(emptyQuery).toEqual({ q: "note", tool: "", principal: "ann", kind: "call", outcome: "", slowerThan: 20 });
  expect(toCommandOptions(emptyQuery)).toEqual(["--q", "note", "--principal", "ann", "--kind", "call", "--slower-than", "20"]);
});
