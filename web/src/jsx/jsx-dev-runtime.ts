/** The same as `jsx-runtime`, for development. */
import { Fragment, jsxDEV as createElement, type JSX } from "react/jsx-dev-runtime";
import { withVisibleText } from "./visible-text";

export { Fragment };
export type { JSX };

export const jsxDEV: typeof createElement = (type, props, key, isStatic, source, self) => createElement(type, withVisibleText(type, props), key, isStatic, source, self);
