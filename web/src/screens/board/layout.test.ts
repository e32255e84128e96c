import { expect, test } from "vitest";
import type { Board, BoardToolset, ToolCard } from "@/api/types";
import { filterOptions, sharedToolKey, nextIndex, serverOptions, filterTools, formatTotals, boardIndex, layoutBoard } from "./layout";

const NONE = { filterText: "", states: [], providers: [], servers: [], hints: [] };

function tool(id: string, rest: Partial<ToolCard> = {}): ToolCard {
  const [toolsetId = "", name = ""] = id.split(":");
  return {
    id,
    name,
    wireName: name,
    title: null,
    toolsetId,
    serverId: null,
    provider: "mcp",
    state: "open",
    verdict: "open",
    status: null,
    message: null,
    remedy: null,
    otherReasons: [],
    action: { kind: "none", target: "", label: "", toolsets: [] },
    overridden: false,
    hints: { readOnly: false, destructive: false, idempotent: false, openWorld: false },
    tokens: 10,
    enabled: true,
    unlisted: false,
    ...rest,
  };
}

function toolset(id: string): BoardToolset {
  return { id, title: id.toUpperCase(), userMcp: true, enabled: true, health: { state: "up", message: "up" }, counts: { open: 0, locked: 0, needs_action: 0, broken: 0, missing: 0, tokens: 0 } };
}

const TOOLS = [
  tool("desk:add_note"),
  tool("desk:delete_note", { state: "locked", hints: { readOnly: false, destructive: true, idempotent: false, openWorld: false } }),
  tool("desk:list_notes", { title: "Every note", hints: { readOnly: true, destructive: false, idempotent: true, openWorld: false } }),
  tool("library:search", { provider: "python" }),
];
const BOARD: Board = {
  tools: TOOLS,
  toolsets: [toolset("desk"), toolset("empty"), toolset("library")],
  totals: { open: 3, locked: 1, needs_action: 0, broken: 0, missing: 0, tokens: 40 },
  presentation: null,
  policyVersion: 1,
  next: null,
};
const names = (tools: readonly ToolCard[]): readonly string[] => tools.map(({ name }) => name);

test("filters combine, and words match titles and toolsets too", () => {
  const index = boardIndex(BOARD);
  expect(names(filterTools(index, NONE))).toEqual(["add_note", "delete_note", "list_notes", "search"]);
  expect(names(filterTools(index, { ...NONE, filterText: "every" }))).toEqual(["list_notes"]);
  expect(names(filterTools(index, { ...NONE, filterText: "LIBRARY" }))).toEqual(["search"]);
  expect(names(filterTools(index, { ...NONE, states: ["locked"], filterText: "note" }))).toEqual(["delete_note"]);
  expect(names(filterTools(index, { ...NONE, providers: ["python"] }))).toEqual(["search"]);
  expect(names(filterTools(index, { ...NONE, hints: ["readOnly", "idempotent"] }))).toEqual(["list_notes"]);
});

test("tool cards are in rows below the heading of their toolset", () => {
  const { rows, orderedTools } = layoutBoard(BOARD.toolsets, TOOLS, 2, false);
  expect(rows.map((row) => (row.kind === "heading" ? `# ${row.toolset.id} ${row.shownCount}` : `${row.firstIndex}: ${names(row.tools).join(" ")}`))).toEqual([
    "# desk 3",
    "0: add_note delete_note",
    "2: list_notes",
    "# empty 0",
    "# library 1",
    "3: search",
  ]);
  expect(orderedTools).toEqual(TOOLS);
  expect(layoutBoard(BOARD.toolsets, TOOLS.slice(3), 2, true).rows.length).toBe(2);
});

test("arrow keys cross rows and headings", () => {
  const { rows } = layoutBoard(BOARD.toolsets, TOOLS, 2, false);
  const indexAfter = (index: number, ...keys: string[]): number => keys.reduce((at, key) => nextIndex(rows, at, key), index);
  expect([indexAfter(0, "ArrowRight"), indexAfter(1, "ArrowDown"), indexAfter(1, "ArrowDown", "ArrowDown"), indexAfter(3, "ArrowDown"), indexAfter(3, "ArrowUp", "ArrowUp"), indexAfter(0, "ArrowLeft"), indexAfter(0, "End"), indexAfter(3, "Home"), indexAfter(0, "x")]).toEqual([
    1, 2, 3, 3, 0, 0, 3, 0, 0,
  ]);
  expect(nextIndex([], 4, "ArrowDown")).toBe(0);
});

test("a tool of one server in two toolsets has one key", () => {
  const one = tool("dev:create_issue", { serverId: "github" });
  expect(sharedToolKey(one)).toBe(sharedToolKey(tool("ops:create_issue", { serverId: "github" })));
  expect(sharedToolKey(tool("dev:create_issue"))).not.toBe(sharedToolKey(tool("ops:create_issue")));
});

test("the totals are one sentence", () => {
  const totalsText = (rest: Partial<Board["totals"]>): string => formatTotals({ open: 0, locked: 0, needs_action: 0, broken: 0, missing: 0, tokens: 0, ...rest }, String);
  expect(totalsText({ open: 41, locked: 7, needs_action: 2, tokens: 6200 })).toBe("41 open, 7 locked, 2 want you; 6200 tokens if all shown");
  expect(totalsText({ needs_action: 1, missing: 3, broken: 1 })).toBe("0 open, 0 locked, 1 wants you, 1 broken, 3 no longer offered; 0 tokens if all shown");
});

test("a server is selected by id, with its toolset if two have that id", () => {
  const tools = [tool("desk:a", { serverId: "desk" }), tool("dev:b", { serverId: "git" }), tool("ops:c", { serverId: "git" }), tool("builtin:d", { provider: "builtin" })];
  const board = { ...BOARD, tools };
  expect(serverOptions(board)).toEqual([
    { id: "desk~desk", label: "desk", toolCount: 1 },
    { id: "dev~git", label: "dev~git", toolCount: 1 },
    { id: "ops~git", label: "ops~git", toolCount: 1 },
  ]);
  expect(names(filterTools(boardIndex(board), { ...NONE, servers: ["ops~git", "desk~desk"] }))).toEqual(["a", "c"]);
});

test("the command has the selected filters", () => {
  expect(filterOptions(NONE)).toEqual([]);
  expect(filterOptions({ filterText: " a note ", states: ["locked", "needs_action"], providers: ["mcp"], servers: ["ops~git"], hints: ["readOnly"] })).toEqual([
    "--q", "a note", "--state", "locked,needs_action", "--provider", "mcp", "--server", "ops~git", "--hint", "readOnly",
  ]);
});
