import type { ReactElement } from "react";
import { Screen, Skeleton } from "@/parts";

export default function ApprovalsScreen(): ReactElement {
  return (
    <Screen title="Approvals" json={{ path: "/approvals" }} command="pegboard approvals list">
      <Skeleton lines={6} />
    </Screen>
  );
}
