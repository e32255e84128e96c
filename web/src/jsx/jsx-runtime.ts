/** React's JSX runtime, which in addition makes invisible characters in texts visible. Names and descriptions of
 * servers, tools and callers are on every screen, and here none of those places can be forgotten. */
import { Fragment, jsx as createElement, jsxs as createElementWithChildren, type JSX } from "react/jsx-runtime";
import { withVisibleText } from "./visible-text";

export { Fragment };
export type { JSX };

type CreateElement = typeof createElement;

export const jsx: CreateElement = (type, props, key) => createElement(type, withVisibleText(type, props), key);
export const jsxs: CreateElement = (type, props, key) => createElementWithChildren(type, withVisibleText(type, props), key);
