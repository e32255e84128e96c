/** The arguments of a call that waits for confirmation, with masked values and the schema's descriptions. */
import { useState, type ReactElement } from "react";
import { useApiQuery, useApiMutation } from "@/api/queries";
import { useHasScope } from "@/api/session";
import type { ResponseOf } from "@/api/types";
import { formatCount } from "@/lib/format";
import { Button, Json, Notice, VisibleText } from "@/components";
import type { TicketDetails } from "./types";

export function TicketArguments({ ticket }: { ticket: TicketDetails }): ReactElement {
  const path = `/tickets/${encodeURIComponent(ticket.id)}`;
  const canOperate = useHasScope("operate");
  const isWaiting = ticket.state === "waiting";
  const [showFull, setShowFull] = useState(false);
  const [revealed, setRevealed] = useState<TicketDetails>();
  const full = useApiQuery<TicketDetails>(["tickets"], path, { full: "true" }, { enabled: showFull && ticket.truncated, keepPrevious: false });
  const revealMutation = useApiMutation<TicketDetails>();
  const shown = (isWaiting ? revealed : undefined) ?? (showFull ? full.data : undefined) ?? ticket;
  return (
    <section>
      <h3>Arguments</h3>
      <Json value={shown.arguments} depth={3} exactNumbers={shown.exactNumbers} />
      {shown.filledArguments !== null && <FilledInArguments filled={shown.filledArguments} />}
      <ArgumentDescriptions tool={ticket.tool} names={Object.keys(ticket.arguments)} />
      {shown.redacted && <p className="muted small">What looks like a secret is left out here.</p>}
      {shown.truncated && (
        <Notice tone="needs_action">
          <p>{showFull && full.data !== undefined ? "Not all of it is kept, so not all of it can be shown." : "Long ones are shown in part. Each gap says how much is left out."}</p>
          {!showFull && (
            <Button small onClick={() => setShowFull(true)}>
              Show all of it
            </Button>
          )}
        </Notice>
      )}
      {shown.masked.length > 0 && (
        <Notice tone="plain">
          <p>
            {formatCount(shown.masked.length, "value")} marked as secret: <code>{shown.masked.join(", ")}</code>
          </p>
          {canOperate && isWaiting && (
            <Button small busy={revealMutation.isPending} onClick={() => revealMutation.mutate({ path: `${path}/reveal` }, { onSuccess: setRevealed })}>
              Reveal
            </Button>
          )}
        </Notice>
      )}
      {revealed !== undefined && isWaiting && <p className="muted small">Revealed. The activity has recorded it.</p>}
    </section>
  );
}

/** What overrides add to the arguments of the caller. */
function FilledInArguments({ filled }: { filled: NonNullable<TicketDetails["filledArguments"]> }): ReactElement {
  return (
    <>
      {Object.keys(filled.defaults).length > 0 && (
        <>
          <h4>Filled in by the operator&apos;s override</h4>
          <Json value={filled.defaults} depth={3} exactNumbers={filled.exactNumbers} />
        </>
      )}
      {filled.pinned.length > 0 && (
        <p className="muted small">
          Pinned by the operator, values not shown:{" "}
          {filled.pinned.map((name, index) => (
            <span key={name}>
              {index > 0 && ", "}
              <code>
                <VisibleText text={name} strict />
              </code>
            </span>
          ))}
        </p>
      )}
    </>
  );
}

/** The descriptions of these arguments in the tool's schema. */
function ArgumentDescriptions({ tool, names }: { tool: string; names: readonly string[] }): ReactElement | null {
  const definition = useApiQuery<ResponseOf<"/tools/show">>(["board"], "/tools/show", { tool }, { enabled: names.length > 0 }).data;
  const properties = (definition?.inputSchema as { properties?: Record<string, { description?: unknown } | null> } | null | undefined)?.properties;
  const descriptions = names.flatMap((name) => {
    const text = properties?.[name]?.description;
    return typeof text === "string" && text !== "" ? [{ name, text }] : [];
  });
  if (descriptions.length === 0) return null;
  return (
    <dl className="muted small">
      {descriptions.map(({ name, text }) => (
        <div key={name}>
          <dt className="mono">{name}</dt>
          <dd>
            <VisibleText text={text} strict />
          </dd>
        </div>
      ))}
    </dl>
  );
}
