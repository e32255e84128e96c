import type { ReactElement } from "react";
import { Screen, Skeleton } from "@/parts";

export default function WallScreen(): ReactElement {
  return (
    <Screen title="Wall" json={{ path: "/board" }} command="pegboard tools list">
      <Skeleton lines={6} />
    </Screen>
  );
}
