/** The same as `jsx-runtime`, while developing. */
import { Fragment, jsxDEV as make, type JSX } from "react/jsx-dev-runtime";
import { visible } from "./visible";

export { Fragment };
export type { JSX };

export const jsxDEV: typeof make = (type, props, key, isStatic, source, self) => make(type, visible(type, props), key, isStatic, source, self);
