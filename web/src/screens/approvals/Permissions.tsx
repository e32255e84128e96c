/** Standing permissions: what runs without confirmation, for whom and until when; each can be revoked. */
import { useState, type ReactElement } from "react";
import type { UseQueryResult } from "@tanstack/react-query";
import { useDeed, useWhole } from "@/api/answers";
import type { Problem } from "@/api/problem";
import { useMay } from "@/api/session";
import type { Answer } from "@/api/types";
import { day } from "@/lib/words";
import { Answered, Button, Dialog, EmptyState, Link, Plain, Skeleton, Table, Tag, Time } from "@/parts";

type Consents = Answer<"/tickets/consents">;
export type Consent = Consents["consents"][number];

export function useConsents(query: { readonly tool?: string; readonly principal?: string } = {}): UseQueryResult<Consents, Problem> {
  return useWhole<Consents>(["tickets", "policy", "board"], "/tickets/consents", query, (before, next) => ({
    ...next,
    consents: [...before.consents, ...next.consents],
  }));
}

export function isInForce(consent: Consent): boolean {
  return !consent.expired && consent.fits !== false;
}

/** The tab with all of them. */
export function StandingPermissions({ of }: { of: UseQueryResult<Consents, Problem> }): ReactElement {
  const operates = useMay("operate");
  const [revoking, setRevoking] = useState<Consent | null>(null);
  return (
    <Answered of={of} waiting={<Skeleton lines={6} height={40} />}>
      {({ consents }) => (
        <>
          {consents.length === 0 ? (
            <EmptyState icon="approvals" title="No standing permissions">
              Every call of a tool that needs confirmation is asked about. Whoever decides about a call can allow further ones until a date; such a permission is
              listed here.
            </EmptyState>
          ) : (
            <Table
              name="Standing permissions"
              rows={consents}
              rowKey={({ id }) => id}
              columns={[
                { id: "tool", head: "Tool", cell: ({ tool }) => <Link to="/tool" query={{ id: tool }} className="mono wrap-any"><Plain text={tool} /></Link> },
                { id: "who", head: "Caller", cell: ({ principal }) => <Link to="/settings" query={{ tab: "people", id: principal }} className="wrap-any"><Plain text={principal} /></Link> },
                { id: "client", head: "Client", cell: (consent) => <Client of={consent} /> },
                { id: "by", head: "Given by", cell: ({ by, at }) => <span className="wrap-any">{by} <span className="quiet"><Time at={at} /></span></span> },
                { id: "used", head: "Last used", cell: ({ lastUsedAt }) => <Time at={lastUsedAt} /> },
                { id: "ends", head: "Ends", cell: (consent) => <Ends of={consent} /> },
                {
                  id: "acts",
                  head: <span className="unseen">Acts</span>,
                  end: true,
                  cell: (consent) =>
                    operates && (
                      <Button small look="bad" aria-label={`Revoke ${consent.tool} for ${consent.principal}`} onClick={() => setRevoking(consent)}>
                        Revoke
                      </Button>
                    ),
                },
              ]}
            />
          )}
          {revoking !== null && <Revoking consent={revoking} onClose={() => setRevoking(null)} />}
        </>
      )}
    </Answered>
  );
}

/** One line each, for the page of a tool and for a person: nothing where there is none. */
export function PermissionLines({ tool, principal }: { tool?: string; principal?: string }): ReactElement | null {
  const operates = useMay("operate");
  const [revoking, setRevoking] = useState<Consent | null>(null);
  const answer = useConsents({ ...(tool === undefined ? {} : { tool }), ...(principal === undefined ? {} : { principal }) });
  const inForce = (answer.data?.consents ?? []).filter(isInForce);
  if (inForce.length === 0) return null;
  return (
    <>
      <ul className="permission-lines" aria-label="Standing permissions">
        {inForce.map((consent) => (
          <li key={consent.id} className="row">
            <span className="wrap-any">
              Runs without confirmation
              {principal === undefined ? (
                <>
                  {" "}
                  for <b><Plain text={consent.principal} /></b>
                </>
              ) : (
                <>
                  : <Link to="/tool" query={{ id: consent.tool }} className="mono"><Plain text={consent.tool} /></Link>
                </>
              )}
              , <Client of={consent} words />, {consent.expiresAt === null ? "without an end" : `until ${day(consent.expiresAt)}`}{" "}
              <span className="quiet small">
                given by {consent.by}, last used <Time at={consent.lastUsedAt} />
              </span>
            </span>
            {operates && (
              <Button small look="bad" aria-label={`Revoke ${consent.tool} for ${consent.principal}`} onClick={() => setRevoking(consent)}>
                Revoke
              </Button>
            )}
          </li>
        ))}
      </ul>
      {revoking !== null && <Revoking consent={revoking} onClose={() => setRevoking(null)} />}
    </>
  );
}

/** For the trail of *why*, whose words name the permissions already. */
export function RevokeButtons({ tool }: { tool: string }): ReactElement | null {
  const operates = useMay("operate");
  const [revoking, setRevoking] = useState<Consent | null>(null);
  const inForce = (useConsents({ tool }).data?.consents ?? []).filter(isInForce);
  if (!operates || inForce.length === 0) return null;
  return (
    <span className="row tight">
      {inForce.map((consent) => (
        <Button key={consent.id} small look="bad" onClick={() => setRevoking(consent)}>
          {`Revoke ${consent.id}`}
        </Button>
      ))}
      {revoking !== null && <Revoking consent={revoking} onClose={() => setRevoking(null)} />}
    </span>
  );
}

function Client({ of, words = false }: { of: Consent; words?: boolean }): ReactElement {
  return (
    <span className="wrap-any">
      {words && "from "}
      {of.client === null ? "any client" : <Plain text={of.client} />}
      {of.whose !== null && <span className="quiet">, at <Plain text={of.whose} /></span>}
    </span>
  );
}

function Ends({ of }: { of: Consent }): ReactElement {
  if (of.expired) return <Tag>ended {day(of.expiresAt ?? "")}</Tag>;
  if (of.fits === false) return <Tag>ended: the tool changed</Tag>;
  return of.expiresAt === null ? <Tag tone="wants">never</Tag> : <span title={of.expiresAt}>{day(of.expiresAt)}</span>;
}

export function Revoking({ consent, onClose }: { consent: Consent; onClose: () => void }): ReactElement {
  const deed = useDeed();
  const revoke = (): void =>
    deed.mutate({
      method: "DELETE",
      path: `/tickets/consents/${encodeURIComponent(consent.id)}`,
      done: `Calls of ${consent.tool} by ${consent.principal} need confirmation again`,
      onDone: onClose,
    });
  return (
    <Dialog
      open
      onClose={onClose}
      title="Revoke this standing permission?"
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="bad" busy={deed.isPending} onClick={revoke}>
            Revoke
          </Button>
        </>
      }
    >
      <p className="wrap-any">
        Every call of <code><Plain text={consent.tool} /></code> by <b><Plain text={consent.principal} /></b> (<Client of={consent} words />) that begins from now on is asked about again, at every
        gateway on this store. A call that runs already is not ended.
      </p>
    </Dialog>
  );
}
