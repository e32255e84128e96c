import type { ReactElement } from "react";
import { Screen, Skeleton } from "@/parts";

export default function SettingsScreen(): ReactElement {
  return (
    <Screen title="Settings" json={{ path: "/status" }} command="pegboard doctor">
      <Skeleton lines={6} />
    </Screen>
  );
}
