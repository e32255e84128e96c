/** How a server is reached, its environment, its trust level, and where that was decided. */
import type { ReactElement } from "react";
import { useApiQuery, useApiMutation } from "@/api/queries";
import type { Server, SignIn, Trust } from "@/api/servers";
import { formatDuration } from "@/lib/format";
import { Button, Code, Tag, Time } from "@/components";
import { RemoveServerButton, serverPath } from "./server-actions";
import { connectionText } from "./server-health";
import { TrustChoice } from "./TrustChoice";

export function ServerSetup({ server, version, canOperate }: { server: Server; version: number; canOperate: boolean }): ReactElement {
  const mutation = useApiMutation();
  const { origin, timeouts } = server;
  return (
    <div className="split">
      <div className="stack wide">
        <section className="sheet stack">
          <h2>{server.connection["url"] === undefined ? "Command" : "Address"}</h2>
          <Code text={connectionText(server.connection)} />
          {typeof server.connection["cwd"] === "string" && (
            <p className="small muted wrap-any">
              in <span className="mono">{server.connection["cwd"]}</span>
            </p>
          )}
          <ValueList title="Environment" values={server.connection["env"]} emptyMessage="Nothing of its own." />
          <ValueList title="Headers" values={server.connection["headers"]} emptyMessage="None." />
          <p className="small muted">Secrets are masked: no answer of the gateway has them.</p>
        </section>
        {server.connection["url"] !== undefined && <SignInStatus server={server} canOperate={canOperate} />}
      </div>
      <div className="stack wide">
        <section className="sheet stack">
          <h2>Trust</h2>
          <TrustChoice
            value={server.trust}
            disabled={!canOperate || mutation.isPending}
            onChange={(trust: Trust) =>
              mutation.mutate({
                method: "PUT",
                path: serverPath(server.id, "/trust"),
                body: { trust },
                version,
                successMessage: `${server.serverId ?? server.id} is trusted: ${trust}`,
              })
            }
          />
        </section>
        <section className="sheet stack">
          <h2>How it runs</h2>
          <dl className="pairs">
            <DescriptionItem name="Id">
              <span className="mono">{server.id}</span>
            </DescriptionItem>
            <DescriptionItem name="Toolset">
              <span className="mono">{server.toolsetId}</span>
            </DescriptionItem>
            <DescriptionItem name="Starts">
              {server.start === "always" ? "with the gateway" : `when it is called; stops after ${formatDuration((server.idleStop ?? 0) * 1000)} without a call`}
            </DescriptionItem>
            <DescriptionItem name="Waits">
              {formatDuration(timeouts.start * 1000)} for its start, {formatDuration(timeouts.call * 1000)} for a call, {formatDuration(timeouts.stop * 1000)} for its end
            </DescriptionItem>
            {server.enabledTools !== undefined && <DescriptionItem name="Only these tools">{server.enabledTools.join(", ")}</DescriptionItem>}
            {server.disabledTools !== undefined && <DescriptionItem name="Not these tools">{server.disabledTools.join(", ")}</DescriptionItem>}
            <DescriptionItem name="Comes from">
              {origin.kind === "declared" ? (
                <span className="mono">
                  {origin.file}:{origin.line}
                </span>
              ) : (
                <>
                  installed by {origin.by}, <Time at={origin.at} />
                </>
              )}
            </DescriptionItem>
          </dl>
          {origin.kind === "declared" ? (
            <p className="small muted">It stands in the file: change or remove it there, and the change is loaded at once.</p>
          ) : (
            canOperate && (
              <div>
                <RemoveServerButton server={server} version={version} />
              </div>
            )
          )}
        </section>
      </div>
    </div>
  );
}

export function DescriptionItem({ name, children }: { name: string; children: React.ReactNode }): ReactElement {
  return (
    <div>
      <dt>{name}</dt>
      <dd className="wrap-any">{children}</dd>
    </div>
  );
}

function ValueList({ title, values, emptyMessage }: { title: string; values: unknown; emptyMessage: string }): ReactElement | null {
  if (typeof values !== "object" || values === null) return null;
  const entries = Object.entries(values);
  return (
    <div className="stack tight">
      <h3>{title}</h3>
      {entries.length === 0 ? (
        <p className="muted">{emptyMessage}</p>
      ) : (
        <dl className="pairs">
          {entries.map(([name, value]) => (
            <DescriptionItem key={name} name={name}>
              {value === "***" ? <Tag>masked</Tag> : <span className="mono">{String(value)}</span>}
            </DescriptionItem>
          ))}
        </dl>
      )}
    </div>
  );
}

/** Only servers with sign-in answer; for the others nothing is shown. */
function SignInStatus({ server, canOperate }: { server: Server; canOperate: boolean }): ReactElement | null {
  const response = useApiQuery<SignIn>(["servers"], serverPath(server.id, "/sign-in"));
  const mutation = useApiMutation();
  if (response.data === undefined || !response.data.signedIn) return null;
  return (
    <section className="sheet stack">
      <h2>Sign-in</h2>
      <p>
        Signed in since <Time at={response.data.since} />.
      </p>
      {response.data.error !== null && <p className="muted wrap-any">{response.data.error}</p>}
      {canOperate && (
        <div>
          <Button
            variant="danger"
            busy={mutation.isPending}
            onClick={() => mutation.mutate({ method: "DELETE", path: serverPath(server.id, "/sign-in"), successMessage: `Signed out of ${server.id}` })}
          >
            Sign out
          </Button>
        </div>
      )}
    </section>
  );
}
