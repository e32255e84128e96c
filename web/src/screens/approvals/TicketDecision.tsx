/** The decision about a ticket. Buttons that allow further calls are styled as dangerous. */
import { useState, type ReactElement, type ReactNode } from "react";
import { useApiMutation } from "@/api/queries";
import type { RequestOf } from "@/api/types";
import { formatDay } from "@/lib/format";
import { Button, Dialog, Field, VisibleText, Select, TextArea } from "@/components";
import type { TicketDetails } from "./types";
import { expiryOptions, toRequestFields, expiryDate, initialChoice, type Expiry } from "./expiry";

type ConsentScope = "client" | "always";

export function TicketDecision({ ticket, onContinue }: { ticket: TicketDetails; onContinue: () => void }): ReactElement {
  const mutation = useApiMutation();
  const [note, setNote] = useState("");
  const [expiry, setExpiry] = useState<Expiry>({ choice: initialChoice(ticket.consentTerms.days), date: "" });
  const [confirmScope, setConfirmScope] = useState<ConsentScope | null>(null);
  const decide = (verb: "allow" | "deny", body: unknown, successMessage: string): void =>
    mutation.mutate({ path: `/tickets/${encodeURIComponent(ticket.id)}/${verb}`, body, successMessage, afterSuccess: onContinue });
  const expiresAt = expiryDate(expiry, Date.now());
  const expiryText = expiresAt === null ? "without an end" : `until ${formatDay(expiresAt)}`;
  const giveConsent = (scope: ConsentScope): void => {
    const body: RequestOf<"/tickets/{id}/allow"> = { scope, note, ...toRequestFields(expiry), confirmDestructive: ticket.consentTerms.destructive };
    decide("allow", body, `${ticket.name} runs without confirmation for ${callerText(ticket, scope)}, ${expiryText}`);
  };
  const requestConsent = (scope: ConsentScope): void => (ticket.consentTerms.destructive ? setConfirmScope(scope) : giveConsent(scope));
  const isDateMissing = expiry.choice === "date" && expiry.date === "";
  return (
    <footer className="review-decision stack">
      <TextArea label="Note" value={note} onChange={setNote} rows={1} maxLength={500} />
      <div className="row">
        <Button variant="primary" icon="check" busy={mutation.isPending} onClick={() => decide("allow", { scope: "once", note }, `${ticket.name} may run once`)}>
          Allow once
        </Button>
        <Button disabled={mutation.isPending} onClick={() => decide("deny", { note }, `${ticket.name} is denied`)}>
          Deny
        </Button>
      </div>
      {ticket.consentTerms.possible ? (
        <fieldset className="form-group stack tight">
          <legend className="field-label">Allow every further call of {ticket.name}, too</legend>
          <div className="row consent-expiry">
            <Select label="Until" value={expiry.choice} onChange={(expiryChoice) => setExpiry({ ...expiry, choice: expiryChoice })} options={expiryOptions(ticket.consentTerms.days)} />
            {expiry.choice === "date" && <Field label="Last day" type="date" value={expiry.date} min={new Date().toISOString().slice(0, 10)} onChange={(date) => setExpiry({ ...expiry, date })} />}
          </div>
          <div className="row">
            {ticket.client !== "" && (
              <Button variant="danger" disabled={mutation.isPending || isDateMissing} title={`${ticket.principal} with this client, ${expiryText}`} onClick={() => requestConsent("client")}>
                Allow always for this client
              </Button>
            )}
            <Button variant="danger" disabled={mutation.isPending || isDateMissing} title={`${ticket.principal} with any client, ${expiryText}`} onClick={() => requestConsent("always")}>
              {`Allow always for ${ticket.principal}`}
            </Button>
          </div>
        </fieldset>
      ) : (
        <p className="muted small">Each call like this one is asked about by itself.</p>
      )}
      {confirmScope !== null && (
        <Dialog
          open
          onClose={() => setConfirmScope(null)}
          title={`Allow every further call of ${ticket.name}?`}
          actions={
            <>
              <Button onClick={() => setConfirmScope(null)}>Cancel</Button>
              <Button variant="danger" busy={mutation.isPending} onClick={() => giveConsent(confirmScope)}>
                {confirmScope === "client" ? "Allow always for this client" : `Allow always for ${ticket.principal}`}
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
              <DescriptionItem name="Tool">
                <code className="wrap-any"><VisibleText text={ticket.tool} /></code>
              </DescriptionItem>
              <DescriptionItem name="Caller">{ticket.principal}</DescriptionItem>
              <DescriptionItem name="Client">{confirmScope === "client" ? <VisibleText text={ticket.client} /> : "any client"}</DescriptionItem>
              <DescriptionItem name="Arguments">any</DescriptionItem>
              <DescriptionItem name="Ends">{expiresAt === null ? "never" : formatDay(expiresAt)}, or when the tool changes, or when you revoke it</DescriptionItem>
            </dl>
          </div>
        </Dialog>
      )}
    </footer>
  );
}

function callerText(ticket: TicketDetails, scope: ConsentScope): string {
  return scope === "client" ? `${ticket.principal} with this client` : ticket.principal;
}

function DescriptionItem({ name, children }: { name: string; children: ReactNode }): ReactElement {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
