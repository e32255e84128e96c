import type { ReactElement } from "react";
import { Screen, Skeleton } from "@/parts";

export default function ToolScreen(): ReactElement {
  return (
    <Screen title="Tool" json={{ path: "/tools" }} command="pegboard tools list">
      <Skeleton lines={6} />
    </Screen>
  );
}
