import { describe, expect, it } from "vitest";
import { isolatedPoints, roundUpAxis } from "./plots";

describe("a value on a plot", () => {
  it("is a dot only where no line goes through it", () => {
    expect(isolatedPoints([1, null, 2, 3, null, 4])).toEqual([
      [0, 1],
      [5, 4],
    ]);
    expect(isolatedPoints([])).toEqual([]);
    expect(isolatedPoints([0])).toEqual([[0, 0]]);
    expect(isolatedPoints([null, null])).toEqual([]);
  });

  it("has a round number above it", () => {
    expect([0, 0.3, 1, 3, 7, 1200].map(roundUpAxis)).toEqual([1, 0.5, 1, 5, 10, 2000]);
  });
});
