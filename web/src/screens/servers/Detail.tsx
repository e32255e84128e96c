/** One server, opened: what to know at a glance, its tools, its log, and how it is set up. */
import type { ReactElement, ReactNode } from "react";
import { useMay } from "@/api/session";
import { useServers, useShares, useWall, type Health, type Server, type ServerList } from "@/api/servers";
import { useParam } from "@/lib/place";
import { command, count, number, span } from "@/lib/words";
import { Answered, ButtonLink, EmptyState, Link, Notice, Screen, Skeleton, Tabs, Trouble } from "@/parts";
import { Restart, serverPath, SignInButton, StopOrStart } from "./acting";
import { LastError } from "./LastError";
import { LogTail } from "./LogTail";
import { Review } from "./Review";
import { SetUp } from "./SetUp";
import { HealthTold, kindOf, nameOf, openOf } from "./standing";
import { ToolLines } from "./ToolLines";

type Part = "tools" | "log" | "setup";

export function Detail({ id }: { id: string }): ReactElement {
  const servers = useServers();
  const may = useMay("operate");
  const all = servers.data?.servers ?? [];
  const server = all.find((each) => each.id === id) ?? all.find((each) => each.serverId === id || each.toolsetId === id);
  return (
    <Screen
      title={server === undefined ? id : nameOf(server, all)}
      lead={
        <span className="row">
          <Link to="/servers">All servers</Link>
          {server !== undefined && (
            <Link to="/toolsets" query={{ id: server.toolsetId }}>
              Toolset {server.toolsetId}
            </Link>
          )}
        </span>
      }
      json={{ path: serverPath(server?.id ?? id) }}
      command={command("pegboard", "servers", "logs", server?.id ?? id)}
      actions={
        server !== undefined &&
        may && (
          <>
            {server.on && server.review === null && <Restart server={server} />}
            {server.review === null && <StopOrStart server={server} version={servers.data?.policyVersion ?? 0} />}
          </>
        )
      }
    >
      <Answered of={servers} waiting={<Skeleton lines={9} height={36} />}>
        {(answer) =>
          server === undefined ? (
            <EmptyState icon="servers" title={`There is no server ${id}`} action={<ButtonLink look="main" to="/servers">All servers</ButtonLink>}>
              It may have been removed.
            </EmptyState>
          ) : (
            <Opened server={server} answer={answer} may={may} />
          )
        }
      </Answered>
    </Screen>
  );
}

function Opened({ server, answer, may }: { server: Server; answer: ServerList; may: boolean }): ReactElement {
  const [part, choose] = useParam("tab", "tools");
  const wall = useWall();
  const pegs = wall.data?.pegs.filter((peg) => peg.toolsetId === server.toolsetId && peg.serverId === server.serverId);
  return (
    <>
      <Standing server={server} may={may} />
      <Facts server={server} />
      <Tabs<Part>
        name="Parts of the server"
        tabs={[
          { id: "tools", label: "Tools", count: openOf(server)[1] },
          { id: "log", label: "Log" },
          { id: "setup", label: "Set-up" },
        ]}
        chosen={part === "log" || part === "setup" ? part : "tools"}
        onChange={choose}
      >
        {part === "log" ? (
          <LogTail id={server.id} />
        ) : part === "setup" ? (
          <SetUp server={server} version={answer.policyVersion} may={may} />
        ) : (
          <Answered of={wall} waiting={<Skeleton lines={5} height={36} />}>
            {(told) => <ToolLines pegs={pegs ?? []} version={told.policyVersion} nothing={nothingOf(server)} />}
          </Answered>
        )}
      </Tabs>
      {server.flaws.length > 0 && (
        <section className="sheet">
          <h2>{count(server.flaws.length, "flaw")} in what it lists</h2>
          <ul className="dotted">
            {server.flaws.map((flaw) => (
              <li key={flaw.name} className="wrap-any">
                It {flaw.sentence}
              </li>
            ))}
          </ul>
        </section>
      )}
    </>
  );
}

function nothingOf(server: Server): string {
  if (server.review !== null) return "It waits for a review and is not started before. Once it is released, its tools are here.";
  if (!server.on) return "It is off. Once it is started, its tools are here.";
  if (server.health.state === "up") return "It is up and lists no tools.";
  return "It has listed no tools yet. What it is waiting for stands above.";
}

/** What keeps it from working, with the one thing to do. */
function Standing({ server, may }: { server: Server; may: boolean }): ReactElement | null {
  const { health } = server;
  if (server.review !== null) return <Review server={server} may={may} />;
  if (health.state === "needs_sign_in") {
    return (
      <Notice tone="wants" action={may && <SignInButton id={server.id} />}>
        <strong>It wants a person to sign in.</strong> <span className="wrap-any">{health.sentence}</span>
      </Notice>
    );
  }
  return <Fallen health={health} />;
}

/** Why it is down, and the last lines that it wrote. */
export function Fallen({ health }: { health: Health }): ReactElement | null {
  if (health.state !== "down") return null;
  return (
    <div className="stack">
      <Trouble error={new Error(`Down: ${health.sentence}`)} />
      {(health.lastLines ?? []).length > 0 && (
        <figure>
          <figcaption className="small quiet">The last lines it wrote</figcaption>
          <pre className="code wraps last-lines" tabIndex={0}>
            {(health.lastLines ?? []).join("\n")}
          </pre>
        </figure>
      )}
    </div>
  );
}

function Facts({ server }: { server: Server }): ReactElement {
  const shares = useShares();
  const share = shares.data?.shares.find((each) => each.id === server.id);
  const [open, all] = openOf(server);
  const time = (value: number | null | undefined): string => (value == null ? "–" : span(value));
  return (
    <dl className="facts">
      <Fact name="Health">
        <HealthTold health={server.health} review={server.review} />
      </Fact>
      <Fact name="Kind">{kindOf(server.connection)}</Fact>
      <Fact name="Tools open / all">
        {number(open)} / {number(all)}
      </Fact>
      <Fact name="Calls, last day">{number(share?.calls ?? 0)}</Fact>
      <Fact name="p50 / p95">
        {time(share?.p50Ms)} / {time(share?.p95Ms)}
      </Fact>
      <Fact name="Last error">
        <LastError server={server} share={share} />
      </Fact>
    </dl>
  );
}

export function Fact({ name, children }: { name: string; children: ReactNode }): ReactElement {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
