/** The arguments of a call that waits: all of them, what is masked in them, and what the tool says of each. */
import { useState, type ReactElement } from "react";
import { useAnswer, useDeed } from "@/api/answers";
import { useMay } from "@/api/session";
import type { Answer } from "@/api/types";
import { count } from "@/lib/words";
import { Button, Json, Notice, Plain } from "@/parts";
import type { OneTicket } from "./told";

export function Arguments({ ticket }: { ticket: OneTicket }): ReactElement {
  const path = `/tickets/${encodeURIComponent(ticket.id)}`;
  const operates = useMay("operate");
  const waits = ticket.state === "waiting";
  const [wanted, setWanted] = useState(false);
  const [revealed, setRevealed] = useState<OneTicket>();
  const whole = useAnswer<OneTicket>(["tickets"], path, { full: "true" }, { when: wanted && ticket.cut, keeps: false });
  const reveal = useDeed<OneTicket>();
  const shown = (waits ? revealed : undefined) ?? (wanted ? whole.data : undefined) ?? ticket;
  return (
    <section>
      <h3>Arguments</h3>
      <Json value={shown.arguments} depth={3} exactNumbers={shown.exactNumbers} />
      {shown.filledIn !== null && <FilledIn filled={shown.filledIn} />}
      <Said tool={ticket.tool} names={Object.keys(ticket.arguments)} />
      {shown.redacted && <p className="quiet small">What looks like a secret is left out here.</p>}
      {shown.cut && (
        <Notice tone="wants">
          <p>{wanted && whole.data !== undefined ? "Not all of it is kept, so not all of it can be shown." : "Long ones are shown in part. Each gap says how much is left out."}</p>
          {!wanted && (
            <Button small onClick={() => setWanted(true)}>
              Show all of it
            </Button>
          )}
        </Notice>
      )}
      {shown.masked.length > 0 && (
        <Notice tone="plain">
          <p>
            {count(shown.masked.length, "value")} marked as secret: <code>{shown.masked.join(", ")}</code>
          </p>
          {operates && waits && (
            <Button small busy={reveal.isPending} onClick={() => reveal.mutate({ path: `${path}/reveal` }, { onSuccess: setRevealed })}>
              Reveal
            </Button>
          )}
        </Notice>
      )}
      {revealed !== undefined && waits && <p className="quiet small">Revealed. The activity has recorded it.</p>}
    </section>
  );
}

/** What overrides put into the call beside what its caller sent. */
function FilledIn({ filled }: { filled: NonNullable<OneTicket["filledIn"]> }): ReactElement {
  return (
    <>
      {Object.keys(filled.defaults).length > 0 && (
        <>
          <h4>Filled in by the operator&apos;s override</h4>
          <Json value={filled.defaults} depth={3} exactNumbers={filled.exactNumbers} />
        </>
      )}
      {filled.pinned.length > 0 && (
        <p className="quiet small">
          Pinned by the operator, values not shown:{" "}
          {filled.pinned.map((name, at) => (
            <span key={name}>
              {at > 0 && ", "}
              <code>
                <Plain text={name} strict />
              </code>
            </span>
          ))}
        </p>
      )}
    </>
  );
}

/** What the tool's schema says of these arguments: an amount of what, a path to where. */
function Said({ tool, names }: { tool: string; names: readonly string[] }): ReactElement | null {
  const shown = useAnswer<Answer<"/tools/show">>(["board"], "/tools/show", { tool }, { when: names.length > 0 }).data;
  const properties = (shown?.inputSchema as { properties?: Record<string, { description?: unknown } | null> } | null | undefined)?.properties;
  const said = names.flatMap((name) => {
    const text = properties?.[name]?.description;
    return typeof text === "string" && text !== "" ? [{ name, text }] : [];
  });
  if (said.length === 0) return null;
  return (
    <dl className="quiet small">
      {said.map(({ name, text }) => (
        <div key={name}>
          <dt className="mono">{name}</dt>
          <dd>
            <Plain text={text} strict />
          </dd>
        </div>
      ))}
    </dl>
  );
}
