import type { ReactElement } from "react";
import { Screen, Skeleton } from "@/parts";

export default function SearchScreen(): ReactElement {
  return (
    <Screen title="Search" json={{ path: "/status" }} command="pegboard tools search">
      <Skeleton lines={6} />
    </Screen>
  );
}
