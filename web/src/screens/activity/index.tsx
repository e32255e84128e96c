import type { ReactElement } from "react";
import { Screen, Skeleton } from "@/parts";

export default function ActivityScreen(): ReactElement {
  return (
    <Screen title="Activity" json={{ path: "/activity" }} command="pegboard activity">
      <Skeleton lines={6} />
    </Screen>
  );
}
