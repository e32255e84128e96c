/** The toolsets: what comes, is switched and goes together. A list, one of them opened, or an import. */
import type { ReactElement } from "react";
import { useFlagParam, useParam } from "@/lib/place";
import "@/screens/servers/servers.css";
import { Detail } from "./Detail";
import { Import } from "./Import";
import { List } from "./List";
import "./toolsets.css";

export default function ToolsetsScreen(): ReactElement {
  const [id] = useParam("id");
  const [importing] = useFlagParam("import");
  if (importing) return <Import />;
  if (id !== "") return <Detail key={id} id={id} />;
  return <List />;
}
