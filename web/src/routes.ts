/** The screens by path. Each is a chunk of its own, so that the board loads without the others. */
import { lazy, type ComponentType, type LazyExoticComponent } from "react";
import type { IconName } from "@/components";

export type Route = {
  readonly path: string;
  readonly name: string;
  readonly icon: IconName;
  readonly screen: LazyExoticComponent<ComponentType>;
};

/** In the order of the navigation. */
export const ROUTES: readonly Route[] = [
  { path: "/", name: "Wall", icon: "board", screen: lazy(() => import("@/screens/board")) },
  { path: "/tool", name: "Tool", icon: "tool", screen: lazy(() => import("@/screens/tool")) },
  { path: "/servers", name: "MCP Servers", icon: "servers", screen: lazy(() => import("@/screens/servers")) },
  { path: "/toolsets", name: "Toolsets", icon: "toolsets", screen: lazy(() => import("@/screens/toolsets")) },
  { path: "/approvals", name: "Approvals", icon: "approvals", screen: lazy(() => import("@/screens/approvals")) },
  { path: "/search", name: "Search", icon: "search", screen: lazy(() => import("@/screens/search")) },
  { path: "/activity", name: "Activity", icon: "activity", screen: lazy(() => import("@/screens/activity")) },
  { path: "/prompt", name: "Prompt", icon: "prompt", screen: lazy(() => import("@/screens/prompt")) },
  { path: "/settings", name: "Settings", icon: "settings", screen: lazy(() => import("@/screens/settings")) },
];

/** Every component in every state: not in the navigation, and works without a gateway. */
export const PATTERNS_SCREEN = lazy(() => import("@/screens/patterns"));
