import { expect, test } from "vitest";
import { asked, begun, configOf, isNothing, pinned, plainWords, unwritten, withRenderer } from "./editing";
import type { Said } from "./told";

const TOOL = "mcp:dev~github:create_issue";

function said(field: string, value: unknown, more: Partial<Said> = {}): Said {
  const whose = { from: null, toolset: "dev", target: TOOL, declared: false, inForce: true, effect: null };
  return { field, value, ...whose, ...more };
}

test("a form begins with what a person said, not with what the file or a pattern says", () => {
  const overrides = [
    said("name_override", "Open an issue"),
    said("description_override", "From the file", { declared: true }),
    said("requires_confirmation", false),
    said("arguments.repo.pin", "•••"),
    said("arguments.labels.hide", true, { target: "github:*" }),
  ];
  expect(begun(overrides, TOOL, ["repo", "labels"])).toEqual({
    name: "Open an issue",
    description: "",
    confirm: "no",
    confirmation: "",
    renderer: "",
    config: null,
    arguments: { repo: { how: "pin", pin: "", description: "" }, labels: { how: "", pin: "", description: "" } },
  });
});

test("only what differs is said, and what is emptied is unsaid", () => {
  const before = begun([said("name_override", "Open"), said("arguments.repo.description", "Which")], TOOL, ["repo", "title"]);
  expect(isNothing(asked(before, before))).toBe(true);
  const after = {
    ...before,
    name: " ",
    description: "Reworded. ",
    confirm: "yes" as const,
    confirmation: "ticket" as const,
    arguments: { repo: { how: "" as const, pin: "", description: "" }, title: { how: "hide" as const, pin: "", description: "" } },
  };
  expect(asked(before, after)).toEqual({
    set: { description_override: "Reworded.", requires_confirmation: true, confirmation: "ticket", arguments: { title: { hide: true } } },
    clear: ["name_override", "arguments.repo"],
  });
});

test("a pinned value is never shown, so an edit of its argument asks for it again", () => {
  const before = begun([said("arguments.repo.pin", "•••"), said("arguments.repo.default", 3)], TOOL, ["repo"]);
  expect(unwritten(before, before)).toEqual({ first: [], again: [] });
  const reworded = { ...before, arguments: { repo: { ...before.arguments["repo"]!, description: "Which" } } };
  expect(unwritten(before, reworded)).toEqual({ first: [], again: ["repo"] });
  const written = { ...before, arguments: { repo: { ...before.arguments["repo"]!, pin: "octo/site" } } };
  expect(unwritten(before, written)).toEqual({ first: [], again: [] });
  expect(asked(before, written).set).toEqual({ arguments: { repo: { pin: "octo/site", default: 3 } } });
});

test("a pin is JSON where it is, and text where it is not", () => {
  expect([pinned("3"), pinned("true"), pinned('"3"'), pinned("octo/site"), pinned('{"a": [1]}')]).toEqual([3, true, "3", "octo/site", { a: [1] }]);
});

test("a value that nobody pinned before is asked for as a first one", () => {
  const before = begun([], TOOL, ["labels"]);
  const after = { ...before, arguments: { labels: { how: "pin" as const, pin: "", description: "" } } };
  expect(unwritten(before, after)).toEqual({ first: ["labels"], again: [] });
  expect(isNothing(asked(before, after))).toBe(true);
});

test("who starts from the words that hold and leaves them says nothing", () => {
  const offered = { title: "Open", description: "Opens it.", inputSchema: { properties: { repo: { description: "Which" }, title: {} } } };
  const plain = plainWords([said("name_override", "From the file", { declared: true })], TOOL, offered);
  expect(plain).toEqual({ name: "From the file", description: "Opens it.", arguments: { repo: "Which", title: "" } });
  const before = begun([], TOOL, ["repo", "title"]);
  const same = { ...before, name: "From the file", description: "Opens it. ", arguments: { ...before.arguments, repo: { how: "" as const, pin: "", description: "Which" } } };
  expect(isNothing(asked(before, same, plain))).toBe(true);
  expect(asked(before, { ...same, description: "Opens one." }, plain)).toEqual({ set: { description_override: "Opens one." }, clear: [] });
  const mine = begun([said("description_override", "Mine")], TOOL, []);
  expect(asked(mine, { ...mine, description: "Opens it." }, plain)).toEqual({ set: {}, clear: ["description_override"] });
});

test("the default renderer is said without a configuration, so that calls are shown as every other", () => {
  const before = begun([], TOOL, []);
  expect(asked(before, withRenderer(before, before, "default"))).toEqual({ set: { renderer: "default" }, clear: [] });
  const own = begun([said("renderer", "table"), said("renderer_config", { rows: "$return" })], TOOL, []);
  expect(asked(own, withRenderer(own, own, "default"))).toEqual({ set: { renderer: "default" }, clear: ["renderer_config"] });
});

test("a renderer is said with its configuration, and unsaid with it", () => {
  const before = begun([], TOOL, []);
  expect(before).toMatchObject({ renderer: "", config: null });
  const chosen = withRenderer(before, before, "table");
  expect(asked(before, chosen)).toEqual({ set: { renderer: "table", renderer_config: {} }, clear: [] });
  expect(asked(before, { ...chosen, config: '{"rows": "$return.books"}' }).set).toEqual({ renderer: "table", renderer_config: { rows: "$return.books" } });
  const own = begun([said("renderer", "table"), said("renderer_config", { rows: "$return" })], TOOL, []);
  expect(isNothing(asked(own, own))).toBe(true);
  expect(asked(own, withRenderer(own, own, "code"))).toEqual({ set: { renderer: "code", renderer_config: {} }, clear: [] });
  expect(withRenderer(withRenderer(own, own, "code"), own, "table")).toEqual(own);
  expect(asked(own, withRenderer(own, own, ""))).toEqual({ set: {}, clear: ["renderer", "renderer_config"] });
  const bare = begun([said("renderer", "table")], TOOL, []);
  expect(asked(bare, withRenderer(bare, bare, ""))).toEqual({ set: {}, clear: ["renderer"] });
});

test("a configuration is a JSON object, and an empty text is an empty one", () => {
  expect([configOf(null), configOf(" "), configOf("{}"), configOf('{"a": [1]}')]).toEqual([{}, {}, {}, { a: [1] }]);
  expect([configOf("[]"), configOf("3"), configOf("null"), configOf('{"a"')]).toEqual([null, null, null, null]);
});
