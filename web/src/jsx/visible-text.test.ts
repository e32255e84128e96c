import { Fragment } from "react/jsx-runtime";
import { expect, test } from "vitest";
import { withVisibleText } from "./visible-text";

test("no text of an element hides an invisible character", () => {
  expect(withVisibleText("b", { children: "send\u202Email" })).toEqual({ children: "send[U+202E]mail" });
  expect(withVisibleText("b", { children: ["of ", "a\u3164", 3, null] })).toEqual({ children: ["of ", "a[U+3164]", 3, null] });
  expect(withVisibleText(Fragment, { children: "a\u200B" })).toEqual({ children: "a[U+200B]" });
  expect(withVisibleText("a", { title: "a\u200B", "aria-label": "b\u2066", href: "/x\u200B" })).toEqual({ title: "a[U+200B]", "aria-label": "b[U+2066]", href: "/x\u200B" });
});

test("identifiers show every space, and prose keeps its emoji and scripts", () => {
  expect(withVisibleText("span", { className: "mono truncate", children: "send_mail\u00A0" })).toEqual({ className: "mono truncate", children: "send_mail[U+00A0]" });
  expect(withVisibleText("code", { children: "a\u3000b" })).toEqual({ children: "a[U+3000]b" });
  const prose = { children: "👩\u200D👧 می\u200Cروم Bonjour\u00A0!" };
  expect(withVisibleText("p", prose)).toBe(prose);
});

test("outer spaces are shown in a standalone name and not in a part of a text", () => {
  expect(withVisibleText("span", { className: "tool-card-name truncate", children: " send_mail" })).toEqual({ className: "tool-card-name truncate", children: "[U+0020]send_mail" });
  expect(withVisibleText("span", { className: "tool-card-name truncate", children: "send_mail\u00A0" })).toEqual({ className: "tool-card-name truncate", children: "send_mail[U+00A0]" });
  expect(withVisibleText("code", { children: "mcp:dev~mail: send  " })).toEqual({ children: "mcp:dev~mail:[U+0020]send[U+0020][U+0020]" });
  for (const unchanged of [{ children: ["pegboard ", "ui"] }, { children: "pegboard ui" }]) expect(withVisibleText("code", unchanged)).toBe(unchanged);
  const text = { children: "  a\n  b " };
  expect(withVisibleText("pre", text)).toBe(text);
});

test("texts without invisible characters and props of components are passed unchanged", () => {
  const plain = { children: "text", className: "mono" };
  expect(withVisibleText("p", plain)).toBe(plain);
  const props = { children: "a\u202E" };
  expect(withVisibleText(() => null, props)).toBe(props);
});
