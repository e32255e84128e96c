import { expect, test } from "vitest";
import { overrideChanges, editFromOverrides, parseConfig, hasNoChanges, parsePin, inheritedTexts, missingPins, withRenderer } from "./override-edit";
import type { OverrideEntry } from "./types";

const TOOL = "mcp:dev~github:create_issue";

function overrideEntry(field: string, value: unknown, more: Partial<OverrideEntry> = {}): OverrideEntry {
  const origin = { from: null, toolset: "dev", target: TOOL, declared: false, effective: true, effect: null };
  return { field, value, ...origin, ...more };
}

test("a form starts with a person's override, not with that of a file or a pattern", () => {
  const overrides = [
    overrideEntry("name_override", "Open an issue"),
    overrideEntry("description_override", "From the file", { declared: true }),
    overrideEntry("requires_confirmation", false),
    overrideEntry("arguments.repo.pin", "•••"),
    overrideEntry("arguments.labels.hide", true, { target: "github:*" }),
  ];
  expect(editFromOverrides(overrides, TOOL, ["repo", "labels"])).toEqual({
    name: "Open an issue",
    description: "",
    confirm: "no",
    confirmation: "",
    renderer: "",
    config: null,
    arguments: { repo: { mode: "pin", pin: "", description: "" }, labels: { mode: "", pin: "", description: "" } },
  });
});

test("only differences are set, and an emptied field is cleared", () => {
  const before = editFromOverrides([overrideEntry("name_override", "Open"), overrideEntry("arguments.repo.description", "Which")], TOOL, ["repo", "title"]);
  expect(hasNoChanges(overrideChanges(before, before))).toBe(true);
  const after = {
    ...before,
    name: " ",
    description: "Reworded. ",
    confirm: "yes" as const,
    confirmation: "ticket" as const,
    arguments: { repo: { mode: "" as const, pin: "", description: "" }, title: { mode: "hide" as const, pin: "", description: "" } },
  };
  expect(overrideChanges(before, after)).toEqual({
    set: { description_override: "Reworded.", requires_confirmation: true, confirmation: "ticket", arguments: { title: { hide: true } } },
    clear: ["name_override", "arguments.repo"],
  });
});

test("a pinned value is never shown, so an edit of its argument requires it again", () => {
  const before = editFromOverrides([overrideEntry("arguments.repo.pin", "•••"), overrideEntry("arguments.repo.default", 3)], TOOL, ["repo"]);
  expect(missingPins(before, before)).toEqual({ newPins: [], savedPins: [] });
  const reworded = { ...before, arguments: { repo: { ...before.arguments["repo"]!, description: "Which" } } };
  expect(missingPins(before, reworded)).toEqual({ newPins: [], savedPins: ["repo"] });
  const withPin = { ...before, arguments: { repo: { ...before.arguments["repo"]!, pin: "octo/site" } } };
  expect(missingPins(before, withPin)).toEqual({ newPins: [], savedPins: [] });
  expect(overrideChanges(before, withPin).set).toEqual({ arguments: { repo: { pin: "octo/site", default: 3 } } });
});

test("a pin is parsed as JSON, else kept as text", () => {
  expect([parsePin("3"), parsePin("true"), parsePin('"3"'), parsePin("octo/site"), parsePin('{"a": [1]}')]).toEqual([3, true, "3", "octo/site", { a: [1] }]);
});

test("a new pin without a value is reported as a first one", () => {
  const before = editFromOverrides([], TOOL, ["labels"]);
  const after = { ...before, arguments: { labels: { mode: "pin" as const, pin: "", description: "" } } };
  expect(missingPins(before, after)).toEqual({ newPins: ["labels"], savedPins: [] });
  expect(hasNoChanges(overrideChanges(before, after))).toBe(true);
});

test("keeping the inherited text is no override", () => {
  const offered = { title: "Open", description: "Opens it.", inputSchema: { properties: { repo: { description: "Which" }, title: {} } } };
  const inherited = inheritedTexts([overrideEntry("name_override", "From the file", { declared: true })], TOOL, offered);
  expect(inherited).toEqual({ name: "From the file", description: "Opens it.", arguments: { repo: "Which", title: "" } });
  const before = editFromOverrides([], TOOL, ["repo", "title"]);
  const same = { ...before, name: "From the file", description: "Opens it. ", arguments: { ...before.arguments, repo: { mode: "" as const, pin: "", description: "Which" } } };
  expect(hasNoChanges(overrideChanges(before, same, inherited))).toBe(true);
  expect(overrideChanges(before, { ...same, description: "Opens one." }, inherited)).toEqual({ set: { description_override: "Opens one." }, clear: [] });
  const edited = editFromOverrides([overrideEntry("description_override", "Mine")], TOOL, []);
  expect(overrideChanges(edited, { ...edited, description: "Opens it." }, inherited)).toEqual({ set: {}, clear: ["description_override"] });
});

test("the default renderer is set without a configuration", () => {
  const before = editFromOverrides([], TOOL, []);
  expect(overrideChanges(before, withRenderer(before, before, "default"))).toEqual({ set: { renderer: "default" }, clear: [] });
  const ownOverrides = editFromOverrides([overrideEntry("renderer", "table"), overrideEntry("renderer_config", { rows: "$return" })], TOOL, []);
  expect(overrideChanges(ownOverrides, withRenderer(ownOverrides, ownOverrides, "default"))).toEqual({ set: { renderer: "default" }, clear: ["renderer_config"] });
});

test("a renderer is set and cleared with its configuration", () => {
  const before = editFromOverrides([], TOOL, []);
  expect(before).toMatchObject({ renderer: "", config: null });
  const selected = withRenderer(before, before, "table");
  expect(overrideChanges(before, selected)).toEqual({ set: { renderer: "table", renderer_config: {} }, clear: [] });
  expect(overrideChanges(before, { ...selected, config: '{"rows": "$return.books"}' }).set).toEqual({ renderer: "table", renderer_config: { rows: "$return.books" } });
  const ownOverrides = editFromOverrides([overrideEntry("renderer", "table"), overrideEntry("renderer_config", { rows: "$return" })], TOOL, []);
  expect(hasNoChanges(overrideChanges(ownOverrides, ownOverrides))).toBe(true);
  expect(overrideChanges(ownOverrides, withRenderer(ownOverrides, ownOverrides, "code"))).toEqual({ set: { renderer: "code", renderer_config: {} }, clear: [] });
  expect(withRenderer(withRenderer(ownOverrides, ownOverrides, "code"), ownOverrides, "table")).toEqual(ownOverrides);
  expect(overrideChanges(ownOverrides, withRenderer(ownOverrides, ownOverrides, ""))).toEqual({ set: {}, clear: ["renderer", "renderer_config"] });
  const withoutConfig = editFromOverrides([overrideEntry("renderer", "table")], TOOL, []);
  expect(overrideChanges(withoutConfig, withRenderer(withoutConfig, withoutConfig, ""))).toEqual({ set: {}, clear: ["renderer"] });
});

test("a configuration is a JSON object, and empty text is an empty one", () => {
  expect([parseConfig(null), parseConfig(" "), parseConfig("{}"), parseConfig('{"a": [1]}')]).toEqual([{}, {}, {}, { a: [1] }]);
  expect([parseConfig("[]"), parseConfig("3"), parseConfig("null"), parseConfig('{"a"')]).toEqual([null, null, null, null]);
});
