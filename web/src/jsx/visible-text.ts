/** Replaces invisible characters in the texts and attributes of an element. */
import { Fragment } from "react/jsx-runtime";
import { withVisibleCharacters } from "@/lib/visible-text";

const PRINTABLE_ASCII = /^[\n\t\x20-\x7e]*$/;
const OUTER_SPACE = /^ | $|^mcp:[^: ]+: /;
const ATTRIBUTES = ["title", "alt", "aria-label", "placeholder"];
/** Elements for identifiers, where not even an unusual space is kept. */
const IDENTIFIER_ELEMENTS = new Set(["code", "pre", "kbd", "option"]);

export function withVisibleText(type: unknown, props: unknown): object {
  if ((typeof type !== "string" && type !== Fragment) || typeof props !== "object" || props === null) return props as object;
  const original = props as Record<string, unknown>;
  const strict = typeof type === "string" && (IDENTIFIER_ELEMENTS.has(type) || /\b(mono|tool-card-name)\b/.test(String(original["className"] ?? "")));
  /** A part of a longer text may have spaces at its ends; a standalone one may not. */
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
