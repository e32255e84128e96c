import { expect, test } from "vitest";
import { appendLog } from "./log-tail";

test("what comes is put to what is there, and the oldest goes", () => {
  const first = appendLog(null, { lines: ["a", "b"], levels: ["info", "error"] }, 3);
  expect(appendLog(first, { lines: ["c", "d"], levels: ["debug", "info"] }, 3)).toEqual({
    lines: ["b", "c", "d"],
    levels: ["error", "debug", "info"],
    first: 1,
  });
});

test("nothing new leaves all as it is", () => {
  const first = appendLog(null, { lines: ["a"], levels: ["info"] });
  expect(appendLog(first, { lines: [], levels: [] })).toBe(first);
});
