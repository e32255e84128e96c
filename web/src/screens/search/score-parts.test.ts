import { expect, test } from "vitest";
import { maxTotal, suggestedName, scoreParts, formatScore, partsInUse } from "./score-parts";

const hit = { id: "a", name: "a", score: 1, matchedWords: [], tokens: 5, scoreParts: { base: -3, description: 2, name: 1, server: -0.5 } };
const other = { ...hit, scoreParts: { base: -3, name: 2, odd: 3 } };

test("a score is a bar of its parts, without what every tool starts with", () => {
  expect(scoreParts(hit).map((part) => [part.id, part.value])).toEqual([
    ["name", 1],
    ["description", 2],
    ["server", -0.5],
  ]);
  expect(scoreParts(other).map((part) => part.id)).toEqual(["name", "odd"]);
  expect([maxTotal([hit, other]), maxTotal([]), partsInUse([hit, other]).map((part) => part.id)]).toEqual([5, 0, ["name", "description"]]);
});

test("a score has two digits, and a query gets a name", () => {
  expect([formatScore(2.066), formatScore(-0.5), suggestedName("read/write\nnotes ")]).toEqual(["2.07", "−0.50", "read write notes"]);
});
