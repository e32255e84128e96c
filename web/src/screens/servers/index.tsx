/** The servers: a line each, one of them opened, or a new one added. The address says which. */
import type { ReactElement } from "react";
import { useParam } from "@/lib/place";
import { Add } from "./Add";
import { Detail } from "./Detail";
import { List } from "./List";
import "./servers.css";

export default function MCPServersScreen(): ReactElement {
  const [id] = useParam("id");
  const [add] = useParam("add");
  if (add !== "") return <Add />;
  if (id !== "") return <Detail key={id} id={id} />;
  return <List />;
}
