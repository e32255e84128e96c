/** React's JSX runtime, which in addition makes invisible characters in texts visible. Names and descriptions of
 * servers, tools and callers are on every screen, and here none of those places can be forgotten. */
import { Fragment, jsx as make, jsxs as makeSeveral, type JSX } from "react/jsx-runtime";
import { withVisibleText } from "./visible-text";

export { Fragment };
export type { JSX };

type CreateElement = typeof make;

export const jsx: CreateElement = (type, props, key) => make(type, withVisibleText(type, props), key);
export const jsxs: CreateElement = (type, props, key) => makeSeveral(type, withVisibleText(type, props), key);
