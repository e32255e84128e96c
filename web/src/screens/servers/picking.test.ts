import { expect, test } from "vitest";
import type { ReadServer, Tried } from "@/api/servers";
import { bodyOf, picked } from "./picking";

const READ: ReadServer = {
  name: "notes",
  connection: {},
  enabled: true,
  foundAt: "pasted",
  secrets: [],
  thereAlready: null,
  problems: [],
};

test("a server is named by where it stands, never by what stands there", () => {
  expect(bodyOf(picked({ text: "npx notes" }, READ))).toEqual({ id: "notes", from: { text: "npx notes", server: "notes" } });
  expect(bodyOf(picked({ client: "lists/mine.json" }, READ), "strict")).toEqual({
    id: "notes",
    from: { client: "lists/mine.json", server: "notes" },
    trust: "strict",
  });
});

test("what was shown counts as seen only where first sight opens tools", () => {
  const pick = { ...picked({ text: "x" }, READ), toolset: " desk ", tried: { seen: "f00d" } as Tried };
  expect([bodyOf(pick, "baseline").seen, bodyOf(pick, "open").seen, bodyOf(pick, "baseline").toolset]).toEqual(["f00d", undefined, "desk"]);
});
