/** How a server is reached, what it is given, how far it is trusted, and where that was decided. */
import type { ReactElement } from "react";
import { useAnswer, useDeed } from "@/api/answers";
import type { Server, SignIn, Trust } from "@/api/servers";
import { span } from "@/lib/words";
import { Button, Code, Tag, Time } from "@/parts";
import { Remove, serverPath } from "./acting";
import { placeOf } from "./standing";
import { TrustChoice } from "./TrustChoice";

export function SetUp({ server, version, may }: { server: Server; version: number; may: boolean }): ReactElement {
  const deed = useDeed();
  const { origin, timeouts } = server;
  return (
    <div className="split">
      <div className="stack wide">
        <section className="sheet stack">
          <h2>{server.connection["url"] === undefined ? "Command" : "Address"}</h2>
          <Code text={placeOf(server.connection)} />
          {typeof server.connection["cwd"] === "string" && (
            <p className="small quiet wrap-any">
              in <span className="mono">{server.connection["cwd"]}</span>
            </p>
          )}
          <Values title="Environment" of={server.connection["env"]} nothing="Nothing of its own." />
          <Values title="Headers" of={server.connection["headers"]} nothing="None." />
          <p className="small quiet">Secrets are masked: no answer of the gateway has them.</p>
        </section>
        {server.connection["url"] !== undefined && <SignedIn server={server} may={may} />}
      </div>
      <div className="stack wide">
        <section className="sheet stack">
          <h2>Trust</h2>
          <TrustChoice
            value={server.trust}
            disabled={!may || deed.isPending}
            onChange={(trust: Trust) =>
              deed.mutate({
                method: "PUT",
                path: serverPath(server.id, "/trust"),
                body: { trust },
                version,
                done: `${server.serverId ?? server.id} is trusted: ${trust}`,
              })
            }
          />
        </section>
        <section className="sheet stack">
          <h2>How it runs</h2>
          <dl className="pairs">
            <Pair name="Id">
              <span className="mono">{server.id}</span>
            </Pair>
            <Pair name="Toolset">
              <span className="mono">{server.toolsetId}</span>
            </Pair>
            <Pair name="Starts">
              {server.start === "always" ? "with the gateway" : `when it is called; stops after ${span((server.idleStop ?? 0) * 1000)} without a call`}
            </Pair>
            <Pair name="Waits">
              {span(timeouts.start * 1000)} for its start, {span(timeouts.call * 1000)} for a call, {span(timeouts.stop * 1000)} for its end
            </Pair>
            {server.enabledTools !== undefined && <Pair name="Only these tools">{server.enabledTools.join(", ")}</Pair>}
            {server.disabledTools !== undefined && <Pair name="Not these tools">{server.disabledTools.join(", ")}</Pair>}
            <Pair name="Comes from">
              {origin.kind === "declared" ? (
                <span className="mono">
                  {origin.file}:{origin.line}
                </span>
              ) : (
                <>
                  installed by {origin.by}, <Time at={origin.at} />
                </>
              )}
            </Pair>
          </dl>
          {origin.kind === "declared" ? (
            <p className="small quiet">It stands in the file: change or remove it there, and the change is loaded at once.</p>
          ) : (
            may && (
              <div>
                <Remove server={server} version={version} />
              </div>
            )
          )}
        </section>
      </div>
    </div>
  );
}

export function Pair({ name, children }: { name: string; children: React.ReactNode }): ReactElement {
  return (
    <div>
      <dt>{name}</dt>
      <dd className="wrap-any">{children}</dd>
    </div>
  );
}

function Values({ title, of, nothing }: { title: string; of: unknown; nothing: string }): ReactElement | null {
  if (typeof of !== "object" || of === null) return null;
  const all = Object.entries(of);
  return (
    <div className="stack tight">
      <h3>{title}</h3>
      {all.length === 0 ? (
        <p className="quiet">{nothing}</p>
      ) : (
        <dl className="pairs">
          {all.map(([name, value]) => (
            <Pair key={name} name={name}>
              {value === "***" ? <Tag>masked</Tag> : <span className="mono">{String(value)}</span>}
            </Pair>
          ))}
        </dl>
      )}
    </div>
  );
}

/** Only servers that know sign-ins answer; of the others there is nothing to show. */
function SignedIn({ server, may }: { server: Server; may: boolean }): ReactElement | null {
  const told = useAnswer<SignIn>(["servers"], serverPath(server.id, "/sign-in"));
  const deed = useDeed();
  if (told.data === undefined || !told.data.signedIn) return null;
  return (
    <section className="sheet stack">
      <h2>Sign-in</h2>
      <p>
        Signed in since <Time at={told.data.since} />.
      </p>
      {told.data.trouble !== null && <p className="quiet wrap-any">{told.data.trouble}</p>}
      {may && (
        <div>
          <Button
            look="bad"
            busy={deed.isPending}
            onClick={() => deed.mutate({ method: "DELETE", path: serverPath(server.id, "/sign-in"), done: `Signed out of ${server.id}` })}
          >
            Sign out
          </Button>
        </div>
      )}
    </section>
  );
}
