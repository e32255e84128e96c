/** A call that waits for a word: who wants what with which arguments, and until when. */
import { useEffect, useState, type ReactElement } from "react";
import { useAnswer } from "@/api/answers";
import { useMay } from "@/api/session";
import { ago } from "@/lib/words";
import { Answered, Button, Link, Notice, Plain, Skeleton, Time } from "@/parts";
import { Arguments } from "./Arguments";
import { Deciding } from "./Deciding";
import type { OneTicket } from "./told";

export function Call({ id, onward }: { id: string; onward: () => void }): ReactElement {
  const answer = useAnswer<OneTicket>(["tickets"], `/tickets/${encodeURIComponent(id)}`, {}, { keeps: false });
  return (
    <Answered of={answer} waiting={<Skeleton lines={8} height={24} />}>
      {(ticket) => <One ticket={ticket} onward={onward} />}
    </Answered>
  );
}

function One({ ticket, onward }: { ticket: OneTicket; onward: () => void }): ReactElement {
  const operates = useMay("operate");
  return (
    <article className="stack review" aria-label={`Call of ${ticket.name}`}>
      <header>
        <h2 className="wrap-any">
          <b><Plain text={ticket.principal} strict /></b> wants to call <Link to="/tool" query={{ id: ticket.tool }} className="mono">{ticket.name}</Link>
        </h2>
        <p className="quiet small">
          from {ticket.client === "" ? "an unnamed client" : <Plain text={ticket.client} strict />}
          {ticket.whose !== null && `, with the credentials of ${ticket.whose}`} · asked {ago(ticket.asked)}
          {ticket.state === "waiting" && (
            <>
              {" "}
              · <Expiring at={ticket.deadline} />
            </>
          )}
        </p>
      </header>
      <Arguments key={ticket.id} ticket={ticket} />
      {ticket.state !== "waiting" ? (
        <div role="alert">
          <Notice tone="plain">
            <p>
              It waits no more: {ticket.state}
              {ticket.decidedBy !== null && ` by ${ticket.decidedBy}`} {ticket.decided !== null && <Time at={ticket.decided} />}
              {ticket.note !== "" && `: ${ticket.note}`}
            </p>
            <Button small look="main" onClick={onward}>
              On to what waits
            </Button>
          </Notice>
        </div>
      ) : operates ? (
        <Deciding ticket={ticket} onward={onward} />
      ) : (
        <p className="quiet">Your token may look, not decide.</p>
      )}
    </article>
  );
}

/** It expires visibly: the words follow the clock. */
export function Expiring({ at }: { at: string }): ReactElement {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const tick = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(tick);
  }, []);
  const left = new Date(at).getTime() - now;
  return <span className={left < 60_000 ? "is-late" : ""}>{left > 0 ? `expires ${ago(at, now)}` : "expired"}</span>;
}
