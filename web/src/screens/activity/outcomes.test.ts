import { expect, test } from "vitest";
import { bucketLabel, formatOutcome, parseRecorded } from "./outcomes";

test("an outcome is put in words", () => {
  expect(["returned", "disabled_by_config"].map(formatOutcome)).toEqual(["returned", "disabled by config"]);
});

test("a recorded text is read where it is whole, and shown to the letter where it was cut", () => {
  expect([parseRecorded('{"a":1}'), parseRecorded('{"a":'), parseRecorded("")]).toEqual([{ json: { a: 1 } }, { text: '{"a":' }, { text: "" }]);
});

test("a bucket is named by its time, and by its day where there are several", () => {
  const bucketStart = "2026-07-28T12:30:00";
  expect([bucketLabel(bucketStart, 60), bucketLabel(bucketStart, 10_080), bucketLabel(null, 60)]).toEqual(["12:30", "Jul 28 12:30", "–"]);
});
