import { expect, test } from "vitest";
import type { ParsedServer, ServerTrial } from "@/api/servers";
import { requestBody, createCandidate } from "./candidates";

const PARSED_SERVER: ParsedServer = {
  name: "notes",
  connection: {},
  enabled: true,
  foundAt: "pasted",
  secrets: [],
  existingOrigin: null,
  problems: [],
};

test("a server is referenced by its source, never by its configuration", () => {
  expect(requestBody(createCandidate({ text: "npx notes" }, PARSED_SERVER))).toEqual({ id: "notes", from: { text: "npx notes", server: "notes" } });
  expect(requestBody(createCandidate({ client: "lists/mine.json" }, PARSED_SERVER), "strict")).toEqual({
    id: "notes",
    from: { client: "lists/mine.json", server: "notes" },
    trust: "strict",
  });
});

test("shown tools count as seen only with the baseline trust level", () => {
  const candidate = { ...createCandidate({ text: "x" }, PARSED_SERVER), toolset: " desk ", trial: { baseline: "f00d" } as ServerTrial };
  expect([requestBody(candidate, "baseline").baseline, requestBody(candidate, "open").baseline, requestBody(candidate, "baseline").toolset]).toEqual(["f00d", undefined, "desk"]);
});
