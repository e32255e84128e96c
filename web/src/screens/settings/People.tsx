/** Who there is, what the tokens of each open, and which toolsets each may use. */
import { useState, type ReactElement } from "react";
import { useDeed, useWhole } from "@/api/answers";
import { useMay } from "@/api/session";
import { useStand } from "@/api/standing";
import type { Answer } from "@/api/types";
import { currentPlace, useParam } from "@/lib/place";
import { count, listed } from "@/lib/words";
import { Answered, Button, ButtonLink, Dialog, Link, Meanwhile, Notice, Skeleton, Table, Tag } from "@/parts";
import { Granting } from "./Granting";

export type PrincipalsAnswer = Answer<"/principals">;
export type Principal = PrincipalsAnswer["principals"][number];

export function People(): ReactElement {
  const [chosen, choose] = useParam("id");
  const admin = useMay("admin");
  const people = useWhole<PrincipalsAnswer>(["tokens", "policy", "toolsets", "settings"], "/principals", {}, (before, next) => ({
    ...next,
    principals: [...before.principals, ...next.principals],
  }));
  return (
    <Answered of={people} waiting={<Skeleton lines={5} height={40} />}>
      {(answer) => {
        const open = answer.principals.find(({ id }) => id === chosen);
        return (
          <div className="stack">
            <Notice tone={answer.asks ? "plain" : "wants"} action={admin && <ButtonLink small icon="plus" to="/settings" query={{ tab: "tokens", make: "1" }}>Make a token</ButtonLink>}>
              {answer.asks
                ? "MCP clients must say who they are: every call needs a token with the scope call."
                : "Nobody has a token that may call yet, so whoever reaches this gateway may call every open tool."}
            </Notice>
            <Table
              name="Who may do what"
              rows={answer.principals}
              rowKey={({ id }) => id}
              chosen={chosen}
              onOpen={({ id }) => choose(id)}
              columns={[
                {
                  id: "who",
                  head: "Who",
                  cell: ({ id }) => (
                    <Link to="/settings" query={{ tab: "people", id }} className="settings-name wrap-any">
                      {id}
                    </Link>
                  ),
                },
                { id: "scopes", head: "May", cell: ({ scopes }) => (scopes.length === 0 ? <span className="quiet">nothing</span> : <Scopes of={scopes} />) },
                { id: "toolsets", head: "Toolsets", cell: ({ toolsets }) => <Granted toolsets={toolsets} /> },
                { id: "confirms", head: "Confirms calls", cell: (each) => <span className="quiet">{confirming(each)}</span> },
                { id: "tokens", head: "Tokens", cell: ({ id, tokens }) => (id === "local" ? <span className="quiet">start-up token</span> : count(tokens, "token")) },
                { id: "from", head: "Said by", cell: (each) => <SaidBy principal={each} /> },
              ]}
            />
            {open !== undefined && <Granting key={open.id} principal={open} version={answer.policyVersion} onClose={() => currentPlace().query.get("id") === open.id && choose("")} />}
            {chosen !== "" && open === undefined && (
              <Notice tone="wants" action={<Button small onClick={() => choose("")}>Dismiss</Button>}>
                Nobody here is called “{chosen}”. A token gives somebody a name.
              </Notice>
            )}
          </div>
        );
      }}
    </Answered>
  );
}

/** Where a call of this principal is confirmed, if it must be. */
export function confirming({ interactive, confirmation }: Principal): string {
  return interactive && confirmation !== "ticket" ? "in its clients" : "by tickets";
}

export function Scopes({ of }: { of: readonly string[] }): ReactElement {
  return (
    <span className="row tight">
      {of.map((scope) => (
        <Tag key={scope}>{scope}</Tag>
      ))}
    </span>
  );
}

const MOST = 4;

export function Granted({ toolsets }: { toolsets: readonly string[] | null }): ReactElement {
  if (toolsets === null) return <span>every toolset</span>;
  if (toolsets.length === 0) return <span className="quiet">none at all</span>;
  const more = toolsets.length - MOST;
  return <span className="wrap-any">{more > 0 ? `${toolsets.slice(0, MOST).join(", ")} and ${more} more` : listed(toolsets)}</span>;
}

function SaidBy({ principal }: { principal: Principal }): ReactElement {
  if (principal.declaredAt !== null) return <code className="wrap-any small">{principal.declaredAt}</code>;
  if (principal.id === "local") return <span className="quiet">this machine</span>;
  return <span className="quiet">decided here</span>;
}

/** Forgetting somebody, with what goes with them. */
export function Forgetting({ principal, version, onClose, onDone }: { principal: Principal; version: number; onClose: () => void; onDone: () => void }): ReactElement {
  const stand = useStand(version);
  const deed = useDeed({ stand });
  const [reopen, setReopen] = useState(false);
  const refused = deed.error?.status === 409;
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Forget ${principal.id}`}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            look="bad"
            busy={deed.isPending}
            onClick={() =>
              deed.mutate({ method: "DELETE", path: `/principals/${encodeURIComponent(principal.id)}`, query: { reopen }, done: `${principal.id} is forgotten`, onDone })
            }
          >
            Forget
          </Button>
        </>
      }
    >
      <div className="stack">
        <Meanwhile of={stand} kept={`${principal.id} is still here.`} />
        <p>
          {principal.id} goes with {count(principal.tokens, "token")} and every grant. Whoever uses one of these tokens is turned away from the next request on.
        </p>
        {refused && (
          <label className="check">
            <input type="checkbox" checked={reopen} onChange={(event) => setReopen(event.target.checked)} />
            <span>Yes, afterwards whoever reaches this gateway may call every open tool.</span>
          </label>
        )}
        {refused && <p className="field-error" role="alert">{deed.error?.message}</p>}
      </div>
    </Dialog>
  );
}
