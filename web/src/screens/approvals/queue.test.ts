import { expect, test } from "vitest";
import { nextKey, groupByServer, queueItems } from "./queue";
import type { Ticket, WaitingTool } from "./types";

const tool = (id: string, server: string | null): WaitingTool => ({
  id,
  name: id,
  server,
  kind: "new",
  risk: { level: "none", hard: 0, soft: 0 },
  findings: [],
  fingerprint: "f",
  since: null,
});
const groups = groupByServer([tool("a", "dev~x"), tool("b", "dev~y"), tool("c", "dev~x"), tool("d", null)], [{ id: "dev~x", pendingTools: 2, approvableTogether: 2, fingerprint: "b" }]);

test("tools are grouped by provider in the gateway's order", () => {
  expect(groups.map(({ id, server, tools }) => [id, server?.approvableTogether ?? null, tools.map(({ id }) => id)])).toEqual([
    ["dev~x", 2, ["a", "c"]],
    ["dev~y", null, ["b"]],
    ["builtin", null, ["d"]],
  ]);
});

test("tickets come before tools, and a decision continues with the next item", () => {
  const items = queueItems([{ id: "t" } as Ticket], groups);
  expect(items.map(({ key }) => key)).toEqual(["t", "a", "c", "b", "d"]);
  expect(["t", "c", "d", "gone"].map((key) => nextKey(items, key))).toEqual(["a", "b", "b", "t"]);
  expect(nextKey([], "t")).toBe("");
});
