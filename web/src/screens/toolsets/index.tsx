/** The toolsets: the list, one toolset, or an import. */
import type { ReactElement } from "react";
import { useFlagParam, useParam } from "@/lib/router";
import "@/screens/servers/servers.css";
import { ToolsetDetail } from "./ToolsetDetail";
import { ImportToolset } from "./ImportToolset";
import { ToolsetList } from "./ToolsetList";
import "./toolsets.css";

export default function ToolsetsScreen(): ReactElement {
  const [id] = useParam("id");
  const [isImporting] = useFlagParam("import");
  if (isImporting) return <ImportToolset />;
  if (id !== "") return <ToolsetDetail key={id} id={id} />;
  return <ToolsetList />;
}
