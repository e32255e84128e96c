/** Texts of an element with every character written out that cannot be seen. */
import { Fragment } from "react/jsx-runtime";
import { written } from "@/lib/plain";

const PLAIN = /^[\n\t\x20-\x7e]*$/;
const SPACED = /^ | $|^mcp:[^: ]+: /;
const ATTRIBUTES = ["title", "alt", "aria-label", "placeholder"];
/** Elements and classes for identifiers, where not even an unusual space is left. */
const EXACT = new Set(["code", "pre", "kbd", "option"]);

export function visible(type: unknown, props: unknown): object {
  if ((typeof type !== "string" && type !== Fragment) || typeof props !== "object" || props === null) return props as object;
  const given = props as Record<string, unknown>;
  const strictly = typeof type === "string" && (EXACT.has(type) || /\b(mono|peg-name)\b/.test(String(given["className"] ?? "")));
  /** A piece of a text that goes on has spaces at its ends; only what stands alone has none. */
  const shown = (value: unknown, alone = false): unknown =>
    typeof value === "string" && (!PLAIN.test(value) || (strictly && alone && SPACED.test(value))) ? written(value, strictly, alone) : value;
  let changed: Record<string, unknown> | undefined;
  const children = given["children"];
  const texts = Array.isArray(children) ? (children.some((each) => shown(each) !== each) ? children.map((each) => shown(each)) : children) : shown(children, type !== "pre");
  if (texts !== children) changed = { ...given, children: texts };
  for (const name of ATTRIBUTES) {
    const value = given[name];
    if (shown(value) !== value) changed = { ...(changed ?? given), [name]: shown(value) };
  }
  return changed ?? given;
}
