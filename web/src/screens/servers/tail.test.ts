import { expect, test } from "vitest";
import { joined } from "./tail";

test("what comes is put to what is there, and the oldest goes", () => {
  const first = joined(null, { lines: ["a", "b"], levels: ["info", "error"] }, 3);
  expect(joined(first, { lines: ["c", "d"], levels: ["debug", "info"] }, 3)).toEqual({
    lines: ["b", "c", "d"],
    levels: ["error", "debug", "info"],
    first: 1,
  });
});

test("nothing new leaves all as it is", () => {
  const first = joined(null, { lines: ["a"], levels: ["info"] });
  expect(joined(first, { lines: [], levels: [] })).toBe(first);
});
