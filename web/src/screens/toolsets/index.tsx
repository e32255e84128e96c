import type { ReactElement } from "react";
import { Screen, Skeleton } from "@/parts";

export default function ToolsetsScreen(): ReactElement {
  return (
    <Screen title="Toolsets" json={{ path: "/toolsets" }} command="pegboard toolset list">
      <Skeleton lines={6} />
    </Screen>
  );
}
