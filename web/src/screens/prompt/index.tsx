import type { ReactElement } from "react";
import { Screen, Skeleton } from "@/parts";

export default function PromptScreen(): ReactElement {
  return (
    <Screen title="Prompt" json={{ path: "/status" }} command="pegboard prompt">
      <Skeleton lines={6} />
    </Screen>
  );
}
