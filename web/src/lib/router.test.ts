import { expect, test } from "vitest";
import { pageUrl, queryString } from "./router";

test("an address leaves out what is empty and repeats a list", () => {
  expect(pageUrl("/tool", { id: "mcp:dev~github:a b", state: ["open", "wants"], none: "", off: false, no: null })).toBe(
    "/ui/tool?id=mcp%3Adev%7Egithub%3Aa+b&state=open&state=wants",
  );
  expect(queryString({})).toBe("");
});
