/** A call that waits for confirmation: the caller, the arguments and the deadline. */
import { useEffect, useState, type ReactElement } from "react";
import { useApiQuery } from "@/api/queries";
import { useHasScope } from "@/api/session";
import { formatRelativeTime } from "@/lib/format";
import { QueryResult, Button, Link, Notice, VisibleText, Skeleton, Time } from "@/components";
import { TicketArguments } from "./TicketArguments";
import { TicketDecision } from "./TicketDecision";
import type { TicketDetails } from "./types";

export function TicketReview({ id, onContinue }: { id: string; onContinue: () => void }): ReactElement {
  const response = useApiQuery<TicketDetails>(["tickets"], `/tickets/${encodeURIComponent(id)}`, {}, { keepPrevious: false });
  return (
    <QueryResult query={response} placeholder={<Skeleton lines={8} height={24} />}>
      {(ticket) => <TicketContent ticket={ticket} onContinue={onContinue} />}
    </QueryResult>
  );
}

function TicketContent({ ticket, onContinue }: { ticket: TicketDetails; onContinue: () => void }): ReactElement {
  const canOperate = useHasScope("operate");
  return (
    <article className="stack review" aria-label={`Call of ${ticket.name}`}>
      <header>
        <h2 className="wrap-any">
          <b><VisibleText text={ticket.principal} strict /></b> wants to call <Link to="/tool" query={{ id: ticket.tool }} className="mono">{ticket.name}</Link>
        </h2>
        <p className="muted small">
          from {ticket.client === "" ? "an unnamed client" : <VisibleText text={ticket.client} strict />}
          {ticket.credentialIdentity !== null && `, with the credentials of ${ticket.credentialIdentity}`} · asked {formatRelativeTime(ticket.requestedAt)}
          {ticket.state === "waiting" && (
            <>
              {" "}
              · <ExpiryCountdown at={ticket.deadline} />
            </>
          )}
        </p>
      </header>
      <TicketArguments key={ticket.id} ticket={ticket} />
      {ticket.state !== "waiting" ? (
        <div role="alert">
          <Notice tone="plain">
            <p>
              It waits no more: {ticket.state}
              {ticket.decidedBy !== null && ` by ${ticket.decidedBy}`} {ticket.decidedAt !== null && <Time at={ticket.decidedAt} />}
              {ticket.note !== "" && `: ${ticket.note}`}
            </p>
            <Button small variant="primary" onClick={onContinue}>
              On to what waits
            </Button>
          </Notice>
        </div>
      ) : canOperate ? (
        <TicketDecision ticket={ticket} onContinue={onContinue} />
      ) : (
        <p className="muted">Your token may look, not decide.</p>
      )}
    </article>
  );
}

/** A countdown that follows the clock. */
export function ExpiryCountdown({ at }: { at: string }): ReactElement {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  const remainingMs = new Date(at).getTime() - now;
  return <span className={remainingMs < 60_000 ? "is-late" : ""}>{remainingMs > 0 ? `expires ${formatRelativeTime(at, now)}` : "expired"}</span>;
}
