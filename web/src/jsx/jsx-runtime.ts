/** Elements as React makes them, but no text of theirs holds a character that cannot be seen: names and words that servers,
 * tools and callers chose stand on every screen, and here none of those places is forgotten. */
import { Fragment, jsx as make, jsxs as makeSeveral, type JSX } from "react/jsx-runtime";
import { withVisibleText } from "./visible-text";

export { Fragment };
export type { JSX };

type CreateElement = typeof make;

export const jsx: CreateElement = (type, props, key) => make(type, withVisibleText(type, props), key);
export const jsxs: CreateElement = (type, props, key) => makeSeveral(type, withVisibleText(type, props), key);
