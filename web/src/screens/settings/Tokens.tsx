/** Tokens: made with a name, scopes and an end, told once, and taken back at once. */
import { useState, type ReactElement } from "react";
import { useAnswer, useDeed, useWhole } from "@/api/answers";
import { useMay } from "@/api/session";
import { useStand } from "@/api/standing";
import type { Answer, FirstRun } from "@/api/types";
import { useFlagParam, useParam } from "@/lib/place";
import { Answered, Button, Chips, Code, Dialog, EmptyState, Link, Meanwhile, Notice, Skeleton, Table, Tag, Time } from "@/parts";
import type { Made } from "./index";
import { MakeToken } from "./MakeToken";
import { Scopes } from "./People";

type TokensAnswer = Answer<"/tokens">;
type Token = TokensAnswer["tokens"][number];

const STATES = ["active", "expired", "revoked", "overruled"] as const;
const TONES: Readonly<Record<string, "open" | "locked" | "wants">> = { active: "open", expired: "locked", revoked: "locked", overruled: "wants" };

export function Tokens({ made, onMade }: { made: Made | null; onMade: (made: Made | null) => void }): ReactElement {
  const admin = useMay("admin");
  const [making, setMaking] = useFlagParam("make");
  const [state, setState] = useParam("state");
  const [revoking, setRevoking] = useState<Token | null>(null);
  const tokens = useWhole<TokensAnswer>(
    ["tokens", "policy"],
    "/tokens",
    {},
    (before, next) => ({ ...next, tokens: [...before.tokens, ...next.tokens] }),
    { when: admin },
  );
  if (!admin) return <Notice>Who sees and makes tokens needs the scope admin. You are signed in without it.</Notice>;
  return (
    <Answered of={tokens} waiting={<Skeleton lines={5} height={40} />}>
      {(answer) => {
        const counts = Object.fromEntries(STATES.map((each) => [each, answer.tokens.filter((token) => token.state === each).length]));
        const shown = answer.tokens.filter((token) => state === "" || token.state === state);
        return (
          <div className="stack">
            {made !== null && <Told made={made} onKept={() => onMade(null)} />}
            {answer.tokens.length > 0 && (
              <div className="row apart">
                <Chips name="State" among={STATES} chosen={state === "" ? [] : [state]} counts={counts} onChange={(chosen) => setState(chosen.at(-1) ?? "")} />
                <Button look={made === null ? "main" : "plain"} icon="plus" onClick={() => setMaking(true)}>
                  Make a token
                </Button>
              </div>
            )}
            {answer.tokens.length === 0 ? (
              <EmptyState icon="approvals" title="No token was made yet" action={<Button look="main" icon="plus" onClick={() => setMaking(true)}>Make a token</Button>}>
                A token says who calls, what they may do and until when. From the first one that may call on, every client needs one.
              </EmptyState>
            ) : (
              <Table
                name="Tokens"
                rows={shown}
                rowKey={({ id }) => id}
                columns={[
                  {
                    id: "name",
                    head: "For",
                    cell: (token) => (
                      <span className="stack tight">
                        <span className="settings-name wrap-any">{token.name}</span>
                        <span className="quiet small mono">{token.prefix}…</span>
                      </span>
                    ),
                  },
                  { id: "who", head: "Whose", cell: ({ principal }) => <Link to="/settings" query={{ tab: "people", id: principal }}>{principal}</Link> },
                  { id: "scopes", head: "May", cell: ({ scopes }) => <Scopes of={scopes} /> },
                  { id: "state", head: "State", cell: (token) => <StateOf token={token} /> },
                  { id: "used", head: "Last used", cell: ({ lastUsedAt }) => <Time at={lastUsedAt} /> },
                  { id: "made", head: "Made", minor: true, cell: ({ madeAt, madeBy }) => <span><Time at={madeAt} /> <span className="quiet">by {madeBy}</span></span> },
                  {
                    id: "acts",
                    head: <span className="unseen">Acts</span>,
                    end: true,
                    cell: (token) =>
                      token.state === "revoked" ? null : (
                        <Button small look="bad" aria-label={`Revoke ${token.name}`} onClick={() => setRevoking(token)}>
                          Revoke
                        </Button>
                      ),
                  },
                ]}
              />
            )}
            {making && (
              <MakeToken
                version={answer.policyVersion}
                onClose={() => setMaking(false)}
                onMade={(token) => {
                  onMade(token);
                  setMaking(false);
                }}
              />
            )}
            {revoking !== null && <Revoking token={revoking} version={answer.policyVersion} onClose={() => setRevoking(null)} />}
          </div>
        );
      }}
    </Answered>
  );
}

function StateOf({ token }: { token: Token }): ReactElement {
  return (
    <span className="stack tight">
      <span>
        <Tag tone={TONES[token.state] ?? "plain"}>{token.state}</Tag>
      </span>
      <span className="quiet small">
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

/** The one time that a token is told. */
function Told({ made, onKept }: { made: Made; onKept: () => void }): ReactElement {
  const first = useAnswer<FirstRun>(["board"], "/first-run").data;
  const calls = made.made.scopes.includes("call");
  const snippet = JSON.stringify(
    { mcpServers: { pegboard: { type: "http", url: first?.endpoint ?? "", headers: { Authorization: `Bearer ${made.token}` } } } },
    null,
    2,
  );
  return (
    <section className="sheet stack settings-told" aria-label="The new token">
      <div className="row apart">
        <h2>The token of {made.made.principal}, told once</h2>
        <Button look="main" icon="check" onClick={onKept}>
          I have kept it
        </Button>
      </div>
      <p className="quiet">Only its hash is kept here: copy it now. When it is lost, revoke it and make another.</p>
      <Code text={made.token} />
      {made.notice !== null && <Notice tone="wants">{made.notice}</Notice>}
      {calls && first?.endpoint != null && (
        <details>
          <summary>For an MCP client&apos;s list of servers</summary>
          <Code text={snippet} />
        </details>
      )}
    </section>
  );
}

function Revoking({ token, version, onClose }: { token: Token; version: number; onClose: () => void }): ReactElement {
  const stand = useStand(version);
  const deed = useDeed({ stand });
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Revoke ${token.name}`}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            look="bad"
            busy={deed.isPending}
            onClick={() => deed.mutate({ method: "DELETE", path: `/tokens/${encodeURIComponent(token.id)}`, done: `${token.name} is revoked` }, { onSuccess: onClose })}
          >
            Revoke
          </Button>
        </>
      }
    >
      <Meanwhile of={stand} kept="It still opens what it opened." />
      <p>
        From the next request on, <code>{token.prefix}…</code> of {token.principal} is a stranger&apos;s. What is open under it ends. This cannot be undone; another
        token can be made.
      </p>
    </Dialog>
  );
}
