/** The last error: why the server is down, or its last failed call. Shared by the list and the detail screen. */
import type { ReactElement } from "react";
import type { Server, ServerCalls } from "@/api/servers";
import { Link, Time } from "@/components";

export function LastError({ server, calls }: { server: Server; calls: ServerCalls | undefined }): ReactElement {
  if (server.health.state === "down") return <span className="server-error is-bad">{server.health.message}</span>;
  const last = calls?.lastError;
  if (last == null) return <span className="muted">–</span>;
  return (
    <Link to="/activity" query={{ id: last.id }} className="server-error" title={last.message}>
      {last.message || last.outcome} <span className="muted small"><Time at={last.at} /></span>
    </Link>
  );
}
