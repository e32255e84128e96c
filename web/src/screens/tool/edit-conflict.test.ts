import { expect, test } from "vitest";
import { editFromOverrides } from "./override-edit";
import { mergeDraft, findConflicts, type BaseState, type Draft } from "./edit-conflict";
import type { OverrideEntry } from "./types";

const TOOL = "mcp:dev~github:create_issue";
const NAMES = ["repo", "title"];

function overrideEntry(field: string, value: unknown, at = "2026-01-01T00:00:00+00:00"): OverrideEntry {
  const from = { kind: "installed" as const, by: "paula", at };
  return { field, value, from, toolset: "dev", target: TOOL, declared: false, effective: true, effect: null };
}

function draft(base: BaseState, change: Partial<Draft["edit"]>): Draft {
  return { base, edit: { ...editFromOverrides(base.overrides, TOOL, NAMES), ...change } };
}

const BASE: BaseState = { overrides: [overrideEntry("name_override", "Open")], version: 3 };

test("conflicts are listed by field, with both values where both edited", () => {
  const editDraft = draft(BASE, { description: "My words" });
  const current: BaseState = { overrides: [overrideEntry("description_override", "Her words"), overrideEntry("arguments.repo.hide", true)], version: 4 };
  expect(findConflicts(editDraft, current, TOOL, NAMES)).toEqual([
    { field: "name_override", label: "Name for people", before: "“Open”", after: "as it is without an override", mine: null, by: null },
    { field: "description_override", label: "Description", before: "as it is without an override", after: "“Her words”", mine: "“My words”", by: "paula" },
    { field: "arguments.repo", label: "repo", before: "as it is without an override", after: "hidden", mine: null, by: "paula" },
  ]);
  const merged = mergeDraft(editDraft, current, TOOL, NAMES, new Set(["description_override"]));
  expect(merged).toEqual({ base: current, edit: { ...editFromOverrides(current.overrides, TOOL, NAMES), description: "My words" } });
  expect(mergeDraft(editDraft, current, TOOL, NAMES, new Set())).toEqual({ base: current, edit: editFromOverrides(current.overrides, TOOL, NAMES) });
});

test("overrides of other tools or of a file are no conflict", () => {
  const editDraft = draft(BASE, { description: "My words" });
  const current: BaseState = { overrides: [...BASE.overrides, { ...overrideEntry("description_override", "The file's"), declared: true }], version: 9 };
  expect(findConflicts(editDraft, current, TOOL, NAMES)).toEqual([]);
});

test("a pin with a hidden value conflicts when it was set again", () => {
  const base: BaseState = { overrides: [overrideEntry("arguments.repo.pin", "***")], version: 1 };
  const current: BaseState = { overrides: [overrideEntry("arguments.repo.pin", "***", "2026-01-02T00:00:00+00:00")], version: 2 };
  expect(findConflicts(draft(base, { name: "N" }), current, TOOL, NAMES).map(({ field, after, mine }) => [field, after, mine])).toEqual([
    ["arguments.repo", "pinned, to another value", null],
  ]);
});

test("the same edit by both is no choice", () => {
  const current: BaseState = { overrides: [overrideEntry("name_override", "Close")], version: 4 };
  expect(findConflicts(draft(BASE, { name: "Close" }), current, TOOL, NAMES).map(({ mine }) => mine)).toEqual([null]);
});
