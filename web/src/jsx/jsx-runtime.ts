/** Elements as React makes them, but no text of theirs holds a character that cannot be seen: names and words that servers,
 * tools and callers chose stand on every screen, and here none of those places is forgotten. */
import { Fragment, jsx as make, jsxs as makeSeveral, type JSX } from "react/jsx-runtime";
import { visible } from "./visible";

export { Fragment };
export type { JSX };

type Make = typeof make;

export const jsx: Make = (type, props, key) => make(type, visible(type, props), key);
export const jsxs: Make = (type, props, key) => makeSeveral(type, visible(type, props), key);
