/** The servers: the list, one server, or a new one. The URL says which. */
import type { ReactElement } from "react";
import { useParam } from "@/lib/router";
import { AddServer } from "./AddServer";
import { ServerDetail } from "./ServerDetail";
import { ServerListScreen } from "./ServerList";
import "./servers.css";

export default function MCPServersScreen(): ReactElement {
  const [id] = useParam("id");
  const [add] = useParam("add");
  if (add !== "") return <AddServer />;
  if (id !== "") return <ServerDetail key={id} id={id} />;
  return <ServerListScreen />;
}
