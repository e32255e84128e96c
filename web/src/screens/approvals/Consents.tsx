/** Consents (standing permissions): which calls run without confirmation, for whom and until when; each can be revoked. */
import { useState, type ReactElement } from "react";
import type { UseQueryResult } from "@tanstack/react-query";
import { useApiMutation, useAllPages } from "@/api/queries";
import type { Problem } from "@/api/problem";
import { useHasScope } from "@/api/session";
import type { ResponseOf } from "@/api/types";
import { formatDay } from "@/lib/format";
import { QueryResult, Button, Dialog, EmptyState, Link, VisibleText, Skeleton, Table, Tag, Time } from "@/components";

type ConsentList = ResponseOf<"/tickets/consents">;
export type Consent = ConsentList["consents"][number];

export function useConsents(query: { readonly tool?: string; readonly principal?: string } = {}): UseQueryResult<ConsentList, Problem> {
  return useAllPages<ConsentList>(["tickets", "policy", "board"], "/tickets/consents", query, (before, next) => ({
    ...next,
    consents: [...before.consents, ...next.consents],
  }));
}

export function isActive(consent: Consent): boolean {
  return !consent.expired && consent.current !== false;
}

/** The tab with all consents. */
export function ConsentTable({ consentsQuery }: { consentsQuery: UseQueryResult<ConsentList, Problem> }): ReactElement {
  const canOperate = useHasScope("operate");
  const [revokeTarget, setRevokeTarget] = useState<Consent | null>(null);
  return (
    <QueryResult query={consentsQuery} placeholder={<Skeleton lines={6} height={40} />}>
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
                { id: "tool", head: "Tool", cell: ({ tool }) => <Link to="/tool" query={{ id: tool }} className="mono wrap-any"><VisibleText text={tool} /></Link> },
                { id: "who", head: "Caller", cell: ({ principal }) => <Link to="/settings" query={{ tab: "people", id: principal }} className="wrap-any"><VisibleText text={principal} /></Link> },
                { id: "client", head: "Client", cell: (consent) => <ConsentClient consent={consent} /> },
                { id: "by", head: "Given by", cell: ({ by, at }) => <span className="wrap-any">{by} <span className="muted"><Time at={at} /></span></span> },
                { id: "used", head: "Last used", cell: ({ lastUsedAt }) => <Time at={lastUsedAt} /> },
                { id: "ends", head: "Ends", cell: (consent) => <ConsentExpiry consent={consent} /> },
                {
                  id: "acts",
                  head: <span className="visually-hidden">Acts</span>,
                  end: true,
                  cell: (consent) =>
                    canOperate && (
                      <Button small variant="danger" aria-label={`Revoke ${consent.tool} for ${consent.principal}`} onClick={() => setRevokeTarget(consent)}>
                        Revoke
                      </Button>
                    ),
                },
              ]}
            />
          )}
          {revokeTarget !== null && <RevokeConsentDialog consent={revokeTarget} onClose={() => setRevokeTarget(null)} />}
        </>
      )}
    </QueryResult>
  );
}

/** The active consents of a tool or a principal, one per line; nothing if there are none. */
export function ConsentLines({ tool, principal }: { tool?: string; principal?: string }): ReactElement | null {
  const canOperate = useHasScope("operate");
  const [revokeTarget, setRevokeTarget] = useState<Consent | null>(null);
  const response = useConsents({ ...(tool === undefined ? {} : { tool }), ...(principal === undefined ? {} : { principal }) });
  const active = (response.data?.consents ?? []).filter(isActive);
  if (active.length === 0) return null;
  return (
    <>
      <ul className="consent-list" aria-label="Standing permissions">
        {active.map((consent) => (
          <li key={consent.id} className="row">
            <span className="wrap-any">
              Runs without confirmation
              {principal === undefined ? (
                <>
                  {" "}
                  for <b><VisibleText text={consent.principal} /></b>
                </>
              ) : (
                <>
                  : <Link to="/tool" query={{ id: consent.tool }} className="mono"><VisibleText text={consent.tool} /></Link>
                </>
              )}
              , <ConsentClient consent={consent} withPreposition />, {consent.expiresAt === null ? "without an end" : `until ${formatDay(consent.expiresAt)}`}{" "}
              <span className="muted small">
                given by {consent.by}, last used <Time at={consent.lastUsedAt} />
              </span>
            </span>
            {canOperate && (
              <Button small variant="danger" aria-label={`Revoke ${consent.tool} for ${consent.principal}`} onClick={() => setRevokeTarget(consent)}>
                Revoke
              </Button>
            )}
          </li>
        ))}
      </ul>
      {revokeTarget !== null && <RevokeConsentDialog consent={revokeTarget} onClose={() => setRevokeTarget(null)} />}
    </>
  );
}

/** For the trail of *why*, whose text names the consents. */
export function RevokeButtons({ tool }: { tool: string }): ReactElement | null {
  const canOperate = useHasScope("operate");
  const [revokeTarget, setRevokeTarget] = useState<Consent | null>(null);
  const active = (useConsents({ tool }).data?.consents ?? []).filter(isActive);
  if (!canOperate || active.length === 0) return null;
  return (
    <span className="row tight">
      {active.map((consent) => (
        <Button key={consent.id} small variant="danger" onClick={() => setRevokeTarget(consent)}>
          {`Revoke ${consent.id}`}
        </Button>
      ))}
      {revokeTarget !== null && <RevokeConsentDialog consent={revokeTarget} onClose={() => setRevokeTarget(null)} />}
    </span>
  );
}

function ConsentClient({ consent, withPreposition = false }: { consent: Consent; withPreposition?: boolean }): ReactElement {
  return (
    <span className="wrap-any">
      {withPreposition && "from "}
      {consent.client === null ? "any client" : <VisibleText text={consent.client} />}
      {consent.credentialIdentity !== null && <span className="muted">, at <VisibleText text={consent.credentialIdentity} /></span>}
    </span>
  );
}

function ConsentExpiry({ consent }: { consent: Consent }): ReactElement {
  if (consent.expired) return <Tag>ended {formatDay(consent.expiresAt ?? "")}</Tag>;
  if (consent.current === false) return <Tag>ended: the tool changed</Tag>;
  return consent.expiresAt === null ? <Tag tone="needs_action">never</Tag> : <span title={consent.expiresAt}>{formatDay(consent.expiresAt)}</span>;
}

export function RevokeConsentDialog({ consent, onClose }: { consent: Consent; onClose: () => void }): ReactElement {
  const mutation = useApiMutation();
  const revoke = (): void =>
    mutation.mutate({
      method: "DELETE",
      path: `/tickets/consents/${encodeURIComponent(consent.id)}`,
      successMessage: `Calls of ${consent.tool} by ${consent.principal} need confirmation again`,
      afterSuccess: onClose,
    });
  return (
    <Dialog
      open
      onClose={onClose}
      title="Revoke this standing permission?"
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button variant="danger" busy={mutation.isPending} onClick={revoke}>
            Revoke
          </Button>
        </>
      }
    >
      <p className="wrap-any">
        Every call of <code><VisibleText text={consent.tool} /></code> by <b><VisibleText text={consent.principal} /></b> (<ConsentClient consent={consent} withPreposition />) that begins from now on is asked about again, at every
        gateway on this store. A call that runs already is not ended.
      </p>
    </Dialog>
  );
}
