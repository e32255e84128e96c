/** The same as `jsx-runtime`, for development. */
import { Fragment, jsxDEV as make, type JSX } from "react/jsx-dev-runtime";
import { withVisibleText } from "./visible-text";

export { Fragment };
export type { JSX };

export const jsxDEV: typeof make = (type, props, key, isStatic, source, self) => make(type, withVisibleText(type, props), key, isStatic, source, self);
