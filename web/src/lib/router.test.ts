import { expect, test } from "vitest";
import { pageUrl, queryString } from "./router";

test("a URL leaves out empty values and repeats lists", () => {
  expect(pageUrl("/tool", { id: "mcp:dev~github:a b", state: ["open", "needs_action"], none: "", off: false, no: null })).toBe(
    "/ui/tool?id=mcp%3Adev%7Egithub%3Aa+b&state=open&state=needs_action",
  );
  expect(queryString({})).toBe("");
});
