import { describe, expect, it } from "vitest";
import { alone, ceiling } from "./plots";

describe("a value on a plot", () => {
  it("is a dot only where no line goes through it", () => {
    expect(alone([1, null, 2, 3, null, 4])).toEqual([
      [0, 1],
      [5, 4],
    ]);
    expect(alone([])).toEqual([]);
    expect(alone([0])).toEqual([[0, 0]]);
    expect(alone([null, null])).toEqual([]);
  });

  it("has a round number above it", () => {
    expect([0, 0.3, 1, 3, 7, 1200].map(ceiling)).toEqual([1, 0.5, 1, 5, 10, 2000]);
  });
});
