/** Texts of an element with every character written out that cannot be seen. */
import { Fragment } from "react/jsx-runtime";
import { withVisibleCharacters } from "@/lib/visible-text";

const PRINTABLE_ASCII = /^[\n\t\x20-\x7e]*$/;
const OUTER_SPACE = /^ | $|^mcp:[^: ]+: /;
const ATTRIBUTES = ["title", "alt", "aria-label", "placeholder"];
/** Elements and classes for identifiers, where not even an unusual space is left. */
const IDENTIFIER_ELEMENTS = new Set(["code", "pre", "kbd", "option"]);

export function withVisibleText(type: unknown, props: unknown): object {
  if ((typeof type !== "string" && type !== Fragment) || typeof props !== "object" || props === null) return props as object;
  const original = props as Record<string, unknown>;
  const strict = typeof type === "string" && (IDENTIFIER_ELEMENTS.has(type) || /\b(mono|peg-name)\b/.test(String(original["className"] ?? "")));
  /** A piece of a text that goes on has spaces at its ends; only what stands alone has none. */
  const toVisible = (value: unknown, standalone = false): unknown =>
    typeof value === "string" && (!PRINTABLE_ASCII.test(value) || (strict && standalone && OUTER_SPACE.test(value))) ? withVisibleCharacters(value, strict, standalone) : value;
  let changed: Record<string, unknown> | undefined;
  const children = original["children"];
  const texts = Array.isArray(children) ? (children.some((each) => toVisible(each) !== each) ? children.map((each) => toVisible(each)) : children) : toVisible(children, type !== "pre");
  if (texts !== children) changed = { ...original, children: texts };
  for (const name of ATTRIBUTES) {
    const value = original[name];
    if (toVisible(value) !== value) changed = { ...(changed ?? original), [name]: toVisible(value) };
  }
  return changed ?? original;
}
