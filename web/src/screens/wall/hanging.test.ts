import { expect, test } from "vitest";
import type { Board, BoardToolset, Peg } from "@/api/types";
import { filterWords, likeness, moved, serversOf, shownPegs, totalsWords, wallIndex, wallLines } from "./hanging";

const NONE = { typed: "", states: [], providers: [], servers: [], hints: [] };

function peg(id: string, rest: Partial<Peg> = {}): Peg {
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
    sentence: null,
    remedy: null,
    more: [],
    action: { kind: "none", target: "", label: "", toolsets: [] },
    overridden: false,
    hints: { readOnly: false, destructive: false, idempotent: false, openWorld: false },
    tokens: 10,
    switchOn: true,
    unlisted: false,
    ...rest,
  };
}

function toolset(id: string): BoardToolset {
  return { id, title: id.toUpperCase(), userMcp: true, on: true, health: { state: "up", sentence: "up" }, counts: { open: 0, locked: 0, wants: 0, broken: 0, gone: 0, tokens: 0 } };
}

const PEGS = [
  peg("desk:add_note"),
  peg("desk:delete_note", { state: "locked", hints: { readOnly: false, destructive: true, idempotent: false, openWorld: false } }),
  peg("desk:list_notes", { title: "Every note", hints: { readOnly: true, destructive: false, idempotent: true, openWorld: false } }),
  peg("library:search", { provider: "python" }),
];
const BOARD: Board = {
  pegs: PEGS,
  toolsets: [toolset("desk"), toolset("empty"), toolset("library")],
  totals: { open: 3, locked: 1, wants: 0, broken: 0, gone: 0, tokens: 40 },
  presentation: null,
  policyVersion: 1,
  next: null,
};
const names = (pegs: readonly Peg[]): readonly string[] => pegs.map(({ name }) => name);

test("filters narrow together, and typed words are looked for in titles and toolsets too", () => {
  const index = wallIndex(BOARD);
  expect(names(shownPegs(index, NONE))).toEqual(["add_note", "delete_note", "list_notes", "search"]);
  expect(names(shownPegs(index, { ...NONE, typed: "every" }))).toEqual(["list_notes"]);
  expect(names(shownPegs(index, { ...NONE, typed: "LIBRARY" }))).toEqual(["search"]);
  expect(names(shownPegs(index, { ...NONE, states: ["locked"], typed: "note" }))).toEqual(["delete_note"]);
  expect(names(shownPegs(index, { ...NONE, providers: ["python"] }))).toEqual(["search"]);
  expect(names(shownPegs(index, { ...NONE, hints: ["readOnly", "idempotent"] }))).toEqual(["list_notes"]);
});

test("pegs hang in lines below the head of their toolset", () => {
  const { lines, placed } = wallLines(BOARD.toolsets, PEGS, 2, false);
  expect(lines.map((line) => (line.kind === "head" ? `# ${line.toolset.id} ${line.shown}` : `${line.from}: ${names(line.pegs).join(" ")}`))).toEqual([
    "# desk 3",
    "0: add_note delete_note",
    "2: list_notes",
    "# empty 0",
    "# library 1",
    "3: search",
  ]);
  expect(placed).toEqual(PEGS);
  expect(wallLines(BOARD.toolsets, PEGS.slice(3), 2, true).lines.length).toBe(2);
});

test("arrow keys go over ends of lines and heads", () => {
  const { lines } = wallLines(BOARD.toolsets, PEGS, 2, false);
  const from = (place: number, ...keys: string[]): number => keys.reduce((at, key) => moved(lines, at, key), place);
  expect([from(0, "ArrowRight"), from(1, "ArrowDown"), from(1, "ArrowDown", "ArrowDown"), from(3, "ArrowDown"), from(3, "ArrowUp", "ArrowUp"), from(0, "ArrowLeft"), from(0, "End"), from(3, "Home"), from(0, "x")]).toEqual([
    1, 2, 3, 3, 0, 0, 3, 0, 0,
  ]);
  expect(moved([], 4, "ArrowDown")).toBe(0);
});

test("a tool that two toolsets have of one server is known as one", () => {
  const one = peg("dev:create_issue", { serverId: "github" });
  expect(likeness(one)).toBe(likeness(peg("ops:create_issue", { serverId: "github" })));
  expect(likeness(peg("dev:create_issue"))).not.toBe(likeness(peg("ops:create_issue")));
});

test("the totals are one sentence", () => {
  const words = (rest: Partial<Board["totals"]>): string => totalsWords({ open: 0, locked: 0, wants: 0, broken: 0, gone: 0, tokens: 0, ...rest }, String);
  expect(words({ open: 41, locked: 7, wants: 2, tokens: 6200 })).toBe("41 open, 7 locked, 2 want you; 6200 tokens if all shown");
  expect(words({ wants: 1, gone: 3, broken: 1 })).toBe("0 open, 0 locked, 1 wants you, 1 broken, 3 no longer offered; 0 tokens if all shown");
});

test("one server is chosen among several, by its toolset too where two have its id", () => {
  const pegs = [peg("desk:a", { serverId: "desk" }), peg("dev:b", { serverId: "git" }), peg("ops:c", { serverId: "git" }), peg("builtin:d", { provider: "builtin" })];
  const board = { ...BOARD, pegs };
  expect(serversOf(board)).toEqual([
    { id: "desk~desk", label: "desk", many: 1 },
    { id: "dev~git", label: "dev~git", many: 1 },
    { id: "ops~git", label: "ops~git", many: 1 },
  ]);
  expect(names(shownPegs(wallIndex(board), { ...NONE, servers: ["ops~git", "desk~desk"] }))).toEqual(["a", "c"]);
});

test("the command has the filters that were chosen", () => {
  expect(filterWords(NONE)).toEqual([]);
  expect(filterWords({ typed: " a note ", states: ["locked", "wants"], providers: ["mcp"], servers: ["ops~git"], hints: ["readOnly"] })).toEqual([
    "--q", "a note", "--state", "locked,wants", "--provider", "mcp", "--server", "ops~git", "--hint", "readOnly",
  ]);
});
