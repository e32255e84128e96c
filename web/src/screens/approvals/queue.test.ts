import { expect, test } from "vitest";
import { after, grouped, stops } from "./queue";
import type { Ticket, Waiting } from "./told";

const tool = (id: string, server: string | null): Waiting => ({
  id,
  name: id,
  server,
  kind: "new",
  risk: { word: "none", hard: 0, soft: 0 },
  notes: [],
  fingerprint: "f",
  since: null,
});
const groups = grouped([tool("a", "dev~x"), tool("b", "dev~y"), tool("c", "dev~x"), tool("d", null)], [{ id: "dev~x", waiting: 2, together: 2, fingerprint: "b" }]);

test("tools stand by provider, in the order in which the gateway told them", () => {
  expect(groups.map(({ id, server, tools }) => [id, server?.together ?? null, tools.map(({ id }) => id)])).toEqual([
    ["dev~x", 2, ["a", "c"]],
    ["dev~y", null, ["b"]],
    ["builtin", null, ["d"]],
  ]);
});

test("calls come before tools, and whoever decided goes on to the next", () => {
  const all = stops([{ id: "t" } as Ticket], groups);
  expect(all.map(({ key }) => key)).toEqual(["t", "a", "c", "b", "d"]);
  expect(["t", "c", "d", "gone"].map((key) => after(all, key))).toEqual(["a", "b", "b", "t"]);
  expect(after([], "t")).toBe("");
});
