import { expect, test } from "vitest";
import { appendLog } from "./log-tail";

test("new lines are appended, and the oldest are dropped", () => {
  const first = appendLog(null, { lines: ["a", "b"], levels: ["info", "error"] }, 3);
  expect(appendLog(first, { lines: ["c", "d"], levels: ["debug", "info"] }, 3)).toEqual({
    lines: ["b", "c", "d"],
    levels: ["error", "debug", "info"],
    first: 1,
  });
});

test("no new lines change nothing", () => {
  const first = appendLog(null, { lines: ["a"], levels: ["info"] });
  expect(appendLog(first, { lines: [], levels: [] })).toBe(first);
});
