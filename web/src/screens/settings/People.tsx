/** The principals, the scopes of their tokens, and the toolsets they may use. */
import { useState, type ReactElement } from "react";
import { useApiMutation, useAllPages } from "@/api/queries";
import { useHasScope } from "@/api/session";
import { useVersionGuard } from "@/api/version-guard";
import type { ResponseOf } from "@/api/types";
import { getLocation, useParam } from "@/lib/router";
import { formatCount, formatList } from "@/lib/format";
import { QueryResult, Button, ButtonLink, Dialog, Link, ConcurrentChangeNotice, Notice, Skeleton, Table, Tag } from "@/components";
import { GrantsDrawer } from "./GrantsDrawer";

export type PrincipalsResponse = ResponseOf<"/principals">;
export type Principal = PrincipalsResponse["principals"][number];

export function People(): ReactElement {
  const [selected, setSelected] = useParam("id");
  const isAdmin = useHasScope("admin");
  const principalsQuery = useAllPages<PrincipalsResponse>(["tokens", "policy", "toolsets", "settings"], "/principals", {}, (before, next) => ({
    ...next,
    principals: [...before.principals, ...next.principals],
  }));
  return (
    <QueryResult query={principalsQuery} placeholder={<Skeleton lines={5} height={40} />}>
      {(response) => {
        const openPrincipal = response.principals.find(({ id }) => id === selected);
        return (
          <div className="stack">
            <Notice tone={response.requiresTokens ? "plain" : "needs_action"} action={isAdmin && <ButtonLink small icon="plus" to="/settings" query={{ tab: "tokens", make: "1" }}>Make a token</ButtonLink>}>
              {response.requiresTokens
                ? "MCP clients must say who they are: every call needs a token with the scope call."
                : "Nobody has a token that may call yet, so whoever reaches this gateway may call every open tool."}
            </Notice>
            <Table
              name="Who may do what"
              rows={response.principals}
              rowKey={({ id }) => id}
              selected={selected}
              onOpen={({ id }) => setSelected(id)}
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
                { id: "scopes", head: "May", cell: ({ scopes }) => (scopes.length === 0 ? <span className="muted">nothing</span> : <ScopeTags scopes={scopes} />) },
                { id: "toolsets", head: "Toolsets", cell: ({ toolsets }) => <GrantedToolsets toolsets={toolsets} /> },
                { id: "confirms", head: "Confirms calls", cell: (each) => <span className="muted">{confirmationPlace(each)}</span> },
                { id: "tokens", head: "Tokens", cell: ({ id, tokens }) => (id === "local" ? <span className="muted">start-up token</span> : formatCount(tokens, "token")) },
                { id: "from", head: "Said by", cell: (each) => <GrantSource principal={each} /> },
              ]}
            />
            {openPrincipal !== undefined && <GrantsDrawer key={openPrincipal.id} principal={openPrincipal} version={response.policyVersion} onClose={() => getLocation().query.get("id") === openPrincipal.id && setSelected("")} />}
            {selected !== "" && openPrincipal === undefined && (
              <Notice tone="needs_action" action={<Button small onClick={() => setSelected("")}>Dismiss</Button>}>
                Nobody here is called “{selected}”. A token gives somebody a name.
              </Notice>
            )}
          </div>
        );
      }}
    </QueryResult>
  );
}

/** Where a call of this principal is confirmed, if it must be. */
export function confirmationPlace({ interactive, confirmation }: Principal): string {
  return interactive && confirmation !== "ticket" ? "in its clients" : "by tickets";
}

export function ScopeTags({ scopes }: { scopes: readonly string[] }): ReactElement {
  return (
    <span className="row tight">
      {scopes.map((scope) => (
        <Tag key={scope}>{scope}</Tag>
      ))}
    </span>
  );
}

const MAX_SHOWN_TOOLSETS = 4;

export function GrantedToolsets({ toolsets }: { toolsets: readonly string[] | null }): ReactElement {
  if (toolsets === null) return <span>every toolset</span>;
  if (toolsets.length === 0) return <span className="muted">none at all</span>;
  const hiddenCount = toolsets.length - MAX_SHOWN_TOOLSETS;
  return <span className="wrap-any">{hiddenCount > 0 ? `${toolsets.slice(0, MAX_SHOWN_TOOLSETS).join(", ")} and ${hiddenCount} more` : formatList(toolsets)}</span>;
}

function GrantSource({ principal }: { principal: Principal }): ReactElement {
  if (principal.declaredAt !== null) return <code className="wrap-any small">{principal.declaredAt}</code>;
  if (principal.id === "local") return <span className="muted">this machine</span>;
  return <span className="muted">decided here</span>;
}

/** Deletes a principal with their tokens and grants. */
export function DeletePrincipalDialog({ principal, version, onClose, onDone }: { principal: Principal; version: number; onClose: () => void; onDone: () => void }): ReactElement {
  const guard = useVersionGuard(version);
  const mutation = useApiMutation({ guard });
  const [reopen, setReopen] = useState(false);
  const isConflict = mutation.error?.status === 409;
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Forget ${principal.id}`}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            variant="danger"
            busy={mutation.isPending}
            onClick={() =>
              mutation.mutate({ method: "DELETE", path: `/principals/${encodeURIComponent(principal.id)}`, query: { reopen }, successMessage: `${principal.id} is forgotten`, afterSuccess: onDone })
            }
          >
            Forget
          </Button>
        </>
      }
    >
      <div className="stack">
        <ConcurrentChangeNotice guard={guard} unchanged={`${principal.id} is still here.`} />
        <p>
          {principal.id} goes with {formatCount(principal.tokens, "token")} and every grant. Whoever uses one of these tokens is turned away from the next request on.
        </p>
        {isConflict && (
          <label className="check">
            <input type="checkbox" checked={reopen} onChange={(event) => setReopen(event.target.checked)} />
            <span>Yes, afterwards whoever reaches this gateway may call every open tool.</span>
          </label>
        )}
        {isConflict && <p className="field-error" role="alert">{mutation.error?.message}</p>}
      </div>
    </Dialog>
  );
}
