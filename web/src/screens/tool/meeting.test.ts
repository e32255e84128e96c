import { expect, test } from "vitest";
import { begun } from "./editing";
import { met, moved, type Base, type Draft } from "./meeting";
import type { Said } from "./told";

const TOOL = "mcp:dev~github:create_issue";
const NAMES = ["repo", "title"];

function said(field: string, value: unknown, at = "2026-01-01T00:00:00+00:00"): Said {
  const from = { kind: "installed" as const, by: "paula", at };
  return { field, value, from, toolset: "dev", target: TOOL, declared: false, inForce: true, effect: null };
}

function draft(base: Base, change: Partial<Draft["edit"]>): Draft {
  return { base, edit: { ...begun(base.said, TOOL, NAMES), ...change } };
}

const OLD: Base = { said: [said("name_override", "Open")], version: 3 };

test("what another saved is told field by field, with mine where both wrote", () => {
  const mine = draft(OLD, { description: "My words" });
  const now: Base = { said: [said("description_override", "Her words"), said("arguments.repo.hide", true)], version: 4 };
  expect(moved(mine, now, TOOL, NAMES)).toEqual([
    { field: "name_override", label: "Name for people", was: "“Open”", is: "as it is without an override", mine: null, by: null },
    { field: "description_override", label: "Description", was: "as it is without an override", is: "“Her words”", mine: "“My words”", by: "paula" },
    { field: "arguments.repo", label: "repo", was: "as it is without an override", is: "hidden", mine: null, by: "paula" },
  ]);
  const kept = met(mine, now, TOOL, NAMES, new Set(["description_override"]));
  expect(kept).toEqual({ base: now, edit: { ...begun(now.said, TOOL, NAMES), description: "My words" } });
  expect(met(mine, now, TOOL, NAMES, new Set())).toEqual({ base: now, edit: begun(now.said, TOOL, NAMES) });
});

test("what is said of other tools, or by a file, moves nothing under a draft", () => {
  const mine = draft(OLD, { description: "My words" });
  const now: Base = { said: [...OLD.said, { ...said("description_override", "The file's"), declared: true }], version: 9 };
  expect(moved(mine, now, TOOL, NAMES)).toEqual([]);
});

test("a pin whose value is never shown has moved when it was said anew", () => {
  const base: Base = { said: [said("arguments.repo.pin", "***")], version: 1 };
  const now: Base = { said: [said("arguments.repo.pin", "***", "2026-01-02T00:00:00+00:00")], version: 2 };
  expect(moved(draft(base, { name: "N" }), now, TOOL, NAMES).map(({ field, is, mine }) => [field, is, mine])).toEqual([
    ["arguments.repo", "pinned, to another value", null],
  ]);
});

test("who wrote the same as the other has nothing to choose", () => {
  const now: Base = { said: [said("name_override", "Close")], version: 4 };
  expect(moved(draft(OLD, { name: "Close" }), now, TOOL, NAMES).map(({ mine }) => mine)).toEqual([null]);
});
