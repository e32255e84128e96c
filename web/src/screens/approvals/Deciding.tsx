/** The answers to a call that waits. Each button says what it does; those that allow further calls look dangerous. */
import { useState, type ReactElement, type ReactNode } from "react";
import { useDeed } from "@/api/answers";
import type { Asked } from "@/api/types";
import { day } from "@/lib/words";
import { Button, Dialog, Field, Plain, Select, TextArea } from "@/parts";
import type { OneTicket } from "./told";
import { choicesOf, endBody, endOf, firstChoice, type End } from "./ends";

type Scope = "client" | "always";

export function Deciding({ ticket, onward }: { ticket: OneTicket; onward: () => void }): ReactElement {
  const deed = useDeed();
  const [note, setNote] = useState("");
  const [end, setEnd] = useState<End>({ choice: firstChoice(ticket.standing.days), date: "" });
  const [confirming, setConfirming] = useState<Scope | null>(null);
  const decide = (word: "allow" | "deny", body: unknown, done: string): void =>
    deed.mutate({ path: `/tickets/${encodeURIComponent(ticket.id)}/${word}`, body, done, onDone: onward });
  const until = endOf(end, Date.now());
  const ends = until === null ? "without an end" : `until ${day(until)}`;
  const stand = (scope: Scope): void => {
    const body: Asked<"/tickets/{id}/allow"> = { scope, note, ...endBody(end), confirmDestructive: ticket.standing.destructive };
    decide("allow", body, `${ticket.name} runs without confirmation for ${whom(ticket, scope)}, ${ends}`);
  };
  const choose = (scope: Scope): void => (ticket.standing.destructive ? setConfirming(scope) : stand(scope));
  const endless = end.choice === "date" && end.date === "";
  return (
    <footer className="review-deciding stack">
      <TextArea label="Note" value={note} onChange={setNote} rows={1} maxLength={500} />
      <div className="row">
        <Button look="main" icon="check" busy={deed.isPending} onClick={() => decide("allow", { scope: "once", note }, `${ticket.name} may run once`)}>
          Allow once
        </Button>
        <Button disabled={deed.isPending} onClick={() => decide("deny", { note }, `${ticket.name} is denied`)}>
          Deny
        </Button>
      </div>
      {ticket.standing.possible ? (
        <fieldset className="form-group stack tight">
          <legend className="field-label">Allow every further call of {ticket.name}, too</legend>
          <div className="row standing-end">
            <Select label="Until" value={end.choice} onChange={(choice) => setEnd({ ...end, choice })} choices={choicesOf(ticket.standing.days)} />
            {end.choice === "date" && <Field label="Last day" type="date" value={end.date} min={new Date().toISOString().slice(0, 10)} onChange={(date) => setEnd({ ...end, date })} />}
          </div>
          <div className="row">
            {ticket.client !== "" && (
              <Button look="bad" disabled={deed.isPending || endless} title={`${ticket.principal} with this client, ${ends}`} onClick={() => choose("client")}>
                Allow always for this client
              </Button>
            )}
            <Button look="bad" disabled={deed.isPending || endless} title={`${ticket.principal} with any client, ${ends}`} onClick={() => choose("always")}>
              {`Allow always for ${ticket.principal}`}
            </Button>
          </div>
        </fieldset>
      ) : (
        <p className="quiet small">Each call like this one is asked about by itself.</p>
      )}
      {confirming !== null && (
        <Dialog
          open
          onClose={() => setConfirming(null)}
          title={`Allow every further call of ${ticket.name}?`}
          actions={
            <>
              <Button onClick={() => setConfirming(null)}>Cancel</Button>
              <Button look="bad" busy={deed.isPending} onClick={() => stand(confirming)}>
                {confirming === "client" ? "Allow always for this client" : `Allow always for ${ticket.principal}`}
              </Button>
            </>
          }
        >
          <div className="stack">
            <p>
              This tool claims that it may delete or overwrite things, or what it claims is not known now. Its further calls would run without confirmation, whatever
              their arguments are.
            </p>
            <dl className="pairs">
              <Pair name="Tool">
                <code className="wrap-any"><Plain text={ticket.tool} /></code>
              </Pair>
              <Pair name="Caller">{ticket.principal}</Pair>
              <Pair name="Client">{confirming === "client" ? <Plain text={ticket.client} /> : "any client"}</Pair>
              <Pair name="Arguments">any</Pair>
              <Pair name="Ends">{until === null ? "never" : day(until)}, or when the tool changes, or when you revoke it</Pair>
            </dl>
          </div>
        </Dialog>
      )}
    </footer>
  );
}

function whom(ticket: OneTicket, scope: Scope): string {
  return scope === "client" ? `${ticket.principal} with this client` : ticket.principal;
}

function Pair({ name, children }: { name: string; children: ReactNode }): ReactElement {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
