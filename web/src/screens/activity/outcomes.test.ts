import { expect, test } from "vitest";
import { bucketLabel, markOf, outcomeWord, recorded } from "./outcomes";

test("an outcome has a word and a mark", () => {
  const said = ["returned", "tool_failed", "pending_approval", "disabled_by_config"];
  expect(said.map((outcome) => [outcomeWord(outcome), markOf(outcome)])).toEqual([
    ["returned", "open"],
    ["tool failed", "broken"],
    ["pending approval", "wants"],
    ["disabled by config", "locked"],
  ]);
});

test("a recorded text is read where it is whole, and shown to the letter where it was cut", () => {
  expect([recorded('{"a":1}'), recorded('{"a":'), recorded("")]).toEqual([{ json: { a: 1 } }, { text: '{"a":' }, { text: "" }]);
});

test("a bucket is named by its time, and by its day where there are several", () => {
  const at = "2026-07-28T12:30:00";
  expect([bucketLabel(at, 60), bucketLabel(at, 10_080), bucketLabel(null, 60)]).toEqual(["12:30", "Jul 28 12:30", "–"]);
});
