import { expect, test } from "vitest";
import { parseBlocks, parseInline } from "./markdown";

test("simple Markdown is parsed into blocks", () => {
  expect(parseBlocks("# Loans\n\nTwo are **overdue**.\n\n- Dune\n- Emma\n\n1. first\n\n> quiet\n\n---\n\n```sql\nselect 1\n```").map((parsed) => parsed.kind)).toEqual([
    "heading",
    "paragraph",
    "list",
    "list",
    "quote",
    "rule",
    "code",
  ]);
});

test("only http becomes a link, and HTML stays text", () => {
  expect(parseInline("[a](https://example.com) [b](javascript:alert(1)) <b>c</b>")).toEqual([
    { kind: "link", text: "a", href: "https://example.com" },
    { kind: "text", text: " [b](javascript:alert(1)) <b>c</b>" },
  ]);
});

test("a fence that never closes ends with the text", () => {
  expect(parseBlocks("```\nselect 1")).toEqual([{ kind: "code", language: "", text: "select 1" }]);
});
