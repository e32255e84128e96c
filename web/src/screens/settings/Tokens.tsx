/** API tokens: created with a name, scopes and an expiry, shown once, and revoked. */
import { useState, type ReactElement } from "react";
import { useApiQuery, useApiMutation, useAllPages } from "@/api/queries";
import { useHasScope } from "@/api/session";
import { useVersionGuard } from "@/api/version-guard";
import type { ResponseOf, FirstRun } from "@/api/types";
import { useFlagParam, useParam } from "@/lib/router";
import { QueryResult, Button, ChipGroup, Code, Dialog, EmptyState, Link, ConcurrentChangeNotice, Notice, Skeleton, Table, Tag, Time } from "@/components";
import type { TokenCreated } from "./index";
import { CreateTokenDialog } from "./CreateTokenDialog";
import { ScopeTags } from "./People";

type TokensResponse = ResponseOf<"/tokens">;
type Token = TokensResponse["tokens"][number];

const TOKEN_STATES = ["active", "expired", "revoked", "overruled"] as const;
const STATE_TONES: Readonly<Record<string, "open" | "locked" | "needs_action">> = { active: "open", expired: "locked", revoked: "locked", overruled: "needs_action" };

export function Tokens({ created, onCreated }: { created: TokenCreated | null; onCreated: (created: TokenCreated | null) => void }): ReactElement {
  const isAdmin = useHasScope("admin");
  const [dialogOpen, setDialogOpen] = useFlagParam("make");
  const [state, setState] = useParam("state");
  const [revokeTarget, setRevokeTarget] = useState<Token | null>(null);
  const tokens = useAllPages<TokensResponse>(
    ["tokens", "policy"],
    "/tokens",
    {},
    (before, next) => ({ ...next, tokens: [...before.tokens, ...next.tokens] }),
    { enabled: isAdmin },
  );
  if (!isAdmin) return <Notice>Who sees and makes tokens needs the scope admin. You are signed in without it.</Notice>;
  return (
    <QueryResult query={tokens} placeholder={<Skeleton lines={5} height={40} />}>
      {(response) => {
        const counts = Object.fromEntries(TOKEN_STATES.map((each) => [each, response.tokens.filter((token) => token.state === each).length]));
        const visibleTokens = response.tokens.filter((token) => state === "" || token.state === state);
        return (
          <div className="stack">
            {created !== null && <CreatedToken created={created} onDismiss={() => onCreated(null)} />}
            {response.tokens.length > 0 && (
              <div className="row apart">
                <ChipGroup name="State" options={TOKEN_STATES} selected={state === "" ? [] : [state]} counts={counts} onChange={(selected) => setState(selected.at(-1) ?? "")} />
                <Button variant={created === null ? "primary" : "default"} icon="plus" onClick={() => setDialogOpen(true)}>
                  Make a token
                </Button>
              </div>
            )}
            {response.tokens.length === 0 ? (
              <EmptyState icon="approvals" title="No token was made yet" action={<Button variant="primary" icon="plus" onClick={() => setDialogOpen(true)}>Make a token</Button>}>
                A token says who calls, what they may do and until when. From the first one that may call on, every client needs one.
              </EmptyState>
            ) : (
              <Table
                name="Tokens"
                rows={visibleTokens}
                rowKey={({ id }) => id}
                columns={[
                  {
                    id: "name",
                    head: "For",
                    cell: (token) => (
                      <span className="stack tight">
                        <span className="settings-name wrap-any">{token.name}</span>
                        <span className="muted small mono">{token.prefix}…</span>
                      </span>
                    ),
                  },
                  { id: "who", head: "Whose", cell: ({ principal }) => <Link to="/settings" query={{ tab: "people", id: principal }}>{principal}</Link> },
                  { id: "scopes", head: "May", cell: ({ scopes }) => <ScopeTags scopes={scopes} /> },
                  { id: "state", head: "State", cell: (token) => <TokenState token={token} /> },
                  { id: "used", head: "Last used", cell: ({ lastUsedAt }) => <Time at={lastUsedAt} /> },
                  { id: "made", head: "Made", minor: true, cell: ({ createdAt: madeAt, createdBy: madeBy }) => <span><Time at={madeAt} /> <span className="muted">by {madeBy}</span></span> },
                  {
                    id: "acts",
                    head: <span className="visually-hidden">Acts</span>,
                    end: true,
                    cell: (token) =>
                      token.state === "revoked" ? null : (
                        <Button small variant="danger" aria-label={`Revoke ${token.name}`} onClick={() => setRevokeTarget(token)}>
                          Revoke
                        </Button>
                      ),
                  },
                ]}
              />
            )}
            {dialogOpen && (
              <CreateTokenDialog
                version={response.policyVersion}
                onClose={() => setDialogOpen(false)}
                onCreated={(token) => {
                  onCreated(token);
                  setDialogOpen(false);
                }}
              />
            )}
            {revokeTarget !== null && <RevokeTokenDialog token={revokeTarget} version={response.policyVersion} onClose={() => setRevokeTarget(null)} />}
          </div>
        );
      }}
    </QueryResult>
  );
}

function TokenState({ token }: { token: Token }): ReactElement {
  return (
    <span className="stack tight">
      <span>
        <Tag tone={STATE_TONES[token.state] ?? "plain"}>{token.state}</Tag>
      </span>
      <span className="muted small">
        {token.state === "revoked" ? (
          <>
            <Time at={token.revokedAt} /> by {token.revokedBy}
          </>
        ) : token.state === "overruled" ? (
          "the file declares its principal"
        ) : token.expiresAt === null ? (
          "until it is revoked"
        ) : (
          <>
            {token.state === "expired" ? "since" : "ends"} <Time at={token.expiresAt} />
          </>
        )}
      </span>
    </span>
  );
}

/** The only time that a token is shown. */
function CreatedToken({ created, onDismiss }: { created: TokenCreated; onDismiss: () => void }): ReactElement {
  const firstRun = useApiQuery<FirstRun>(["board"], "/first-run").data;
  const canCall = created.created.scopes.includes("call");
  const snippet = JSON.stringify(
    { mcpServers: { pegboard: { type: "http", url: firstRun?.endpoint ?? "", headers: { Authorization: `Bearer ${created.token}` } } } },
    null,
    2,
  );
  return (
    <section className="sheet stack settings-new-token" aria-label="The new token">
      <div className="row apart">
        <h2>The token of {created.created.principal}, told once</h2>
        <Button variant="primary" icon="check" onClick={onDismiss}>
          I have kept it
        </Button>
      </div>
      <p className="muted">Only its hash is kept here: copy it now. When it is lost, revoke it and make another.</p>
      <Code text={created.token} />
      {created.notice !== null && <Notice tone="needs_action">{created.notice}</Notice>}
      {canCall && firstRun?.endpoint != null && (
        <details>
          <summary>For an MCP client&apos;s list of servers</summary>
          <Code text={snippet} />
        </details>
      )}
    </section>
  );
}

function RevokeTokenDialog({ token, version, onClose }: { token: Token; version: number; onClose: () => void }): ReactElement {
  const guard = useVersionGuard(version);
  const mutation = useApiMutation({ guard });
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Revoke ${token.name}`}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            variant="danger"
            busy={mutation.isPending}
            onClick={() => mutation.mutate({ method: "DELETE", path: `/tokens/${encodeURIComponent(token.id)}`, successMessage: `${token.name} is revoked` }, { onSuccess: onClose })}
          >
            Revoke
          </Button>
        </>
      }
    >
      <ConcurrentChangeNotice guard={guard} unchanged="It still opens what it opened." />
      <p>
        From the next request on, <code>{token.prefix}…</code> of {token.principal} is a stranger&apos;s. What is open under it ends. This cannot be undone; another
        token can be made.
      </p>
    </Dialog>
  );
}
