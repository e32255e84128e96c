import type { ReactElement } from "react";
import { Screen, Skeleton } from "@/parts";

export default function MCPServersScreen(): ReactElement {
  return (
    <Screen title="MCP Servers" json={{ path: "/servers" }} command="pegboard servers list">
      <Skeleton lines={6} />
    </Screen>
  );
}
