/** A name that no tool has: the gateway's explanation, similar names as links, and servers whose tools are unknown. */
import { useEffect, useState, type ReactElement } from "react";
import { useApiQuery } from "@/api/queries";
import type { ResponseOf, ServerWithUnknownTools } from "@/api/types";
import type { Query } from "@/lib/router";
import { Link, Skeleton } from "@/components";
import { SuggestedActionButton } from "./SuggestedActionButton";

const TYPING_DELAY_MS = 250;

/** Fetched when typing pauses, and again when the board changes. */
export function UnknownTool({ text, view, version, onNavigate }: { text: string; view: Query; version: number | undefined; onNavigate?: () => void }): ReactElement | null {
  const [requested, setRequested] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setRequested(text), TYPING_DELAY_MS);
    return () => clearTimeout(timer);
  }, [text]);
  const why = useApiQuery<ResponseOf<"/why">>(["board", "servers", "policy"], "/why", { tool: requested.trim(), ...view }, { enabled: requested.trim() !== "", keepPrevious: false });
  if (requested.trim() === "") return null;
  if (why.isPending) return <Skeleton lines={2} />;
  if (why.data !== undefined) {
    return (
      <div className="stack unknown-tool" role="status">
        <p>
          <ToolLink id={why.data.id} onNavigate={onNavigate} /> {why.data.verdict === "open" ? "is open." : why.data.message}
        </p>
      </div>
    );
  }
  const body = (why.error?.body ?? {}) as { readonly tools?: readonly string[]; readonly unlistedProviders?: readonly ServerWithUnknownTools[] };
  const similar = body.tools ?? [];
  const servers = body.unlistedProviders ?? [];
  if (similar.length === 0 && servers.length === 0) {
    return (
      <p className="unknown-tool wrap-any" role="status">
        {why.error?.message}
      </p>
    );
  }
  return (
    <div className="stack unknown-tool" role="status">
      <p className="wrap-any">
        No tool that is known here is called <b className="mono">{requested.trim()}</b>.
      </p>
      {similar.length > 0 && (
        <p>
          Did you mean{" "}
          {similar.map((id, index) => (
            <span key={id}>
              {index > 0 && ", "}
              <ToolLink id={id} onNavigate={onNavigate} />
            </span>
          ))}
          ?
        </p>
      )}
      {servers.length > 0 && (
        <>
          <p>It may be a tool of one of these, of which nobody knows what they have:</p>
          <UnknownServerTools servers={servers} version={version} />
        </>
      )}
    </div>
  );
}

/** Servers whose tools are unknown, each with the action that starts it; and the reason, if `message` does not contain
 * it. */
export function UnknownServerTools({ servers, version, message = "" }: { servers: readonly ServerWithUnknownTools[]; version: number | undefined; message?: string }): ReactElement {
  return (
    <ul className="stack tight unknown-tool-servers">
      {servers.map((each) => (
        <li key={each.id} className="row apart">
          <span className="wrap-any">
            <span className="mono">{each.id}</span> {!message.includes(each.message) && <span className="muted">{each.message}</span>}
          </span>
          <SuggestedActionButton subject={{ name: each.id, action: each.action }} version={version} />
        </li>
      ))}
    </ul>
  );
}

function ToolLink({ id, onNavigate }: { id: string; onNavigate: (() => void) | undefined }): ReactElement {
  return (
    <Link to="/tool" query={{ id }} className="mono wrap-any" {...(onNavigate === undefined ? {} : { onClick: onNavigate })}>
      {id}
    </Link>
  );
}
