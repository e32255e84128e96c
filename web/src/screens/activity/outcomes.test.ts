import { expect, test } from "vitest";
import { bucketLabel, formatOutcome, parseRecorded } from "./outcomes";

test("an outcome is formatted as words", () => {
  expect(["returned", "disabled_by_config"].map(formatOutcome)).toEqual(["returned", "disabled by config"]);
});

test("a complete recorded text is parsed, and a truncated one stays text", () => {
  expect([parseRecorded('{"a":1}'), parseRecorded('{"a":'), parseRecorded("")]).toEqual([{ json: { a: 1 } }, { text: '{"a":' }, { text: "" }]);
});

test("a bucket's label is its time, with the day in a longer range", () => {
  const bucketStart = "2026-07-28T12:30:00";
  expect([bucketLabel(bucketStart, 60), bucketLabel(bucketStart, 10_080), bucketLabel(null, 60)]).toEqual(["12:30", "Jul 28 12:30", "–"]);
});
