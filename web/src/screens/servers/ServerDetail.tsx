/** One server: its status, tools, log and setup. */
import type { ReactElement, ReactNode } from "react";
import { useHasScope } from "@/api/session";
import { useServers, useServerCalls, useBoard, type Server, type ServerList } from "@/api/servers";
import type { Health } from "@/api/types";
import { useParam } from "@/lib/router";
import { shellCommand, formatCount, formatNumber, formatDuration } from "@/lib/format";
import { QueryResult, ButtonLink, EmptyState, Link, Notice, Screen, Skeleton, Tabs, ErrorMessage } from "@/components";
import { RestartButton, serverPath, SignInButton, StartStopButton } from "./server-actions";
import { LastError } from "./LastError";
import { LogTail } from "./LogTail";
import { ServerReviewPanel } from "./ServerReview";
import { ServerSetup } from "./ServerSetup";
import { HealthStatus, transportName, serverName, toolCounts } from "./server-health";
import { ToolRows } from "./ToolRows";

type ServerTab = "tools" | "log" | "setup";

export function ServerDetail({ id }: { id: string }): ReactElement {
  const servers = useServers();
  const canOperate = useHasScope("operate");
  const allServers = servers.data?.servers ?? [];
  const server = allServers.find((each) => each.id === id) ?? allServers.find((each) => each.serverId === id || each.toolsetId === id);
  return (
    <Screen
      title={server === undefined ? id : serverName(server, allServers)}
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
      command={shellCommand("pegboard", "servers", "logs", server?.id ?? id)}
      actions={
        server !== undefined &&
        canOperate && (
          <>
            {server.active && server.review === null && <RestartButton server={server} />}
            {server.review === null && <StartStopButton server={server} version={servers.data?.policyVersion ?? 0} />}
          </>
        )
      }
    >
      <QueryResult query={servers} placeholder={<Skeleton lines={9} height={36} />}>
        {(data) =>
          server === undefined ? (
            <EmptyState icon="servers" title={`There is no server ${id}`} action={<ButtonLink variant="primary" to="/servers">All servers</ButtonLink>}>
              It may have been removed.
            </EmptyState>
          ) : (
            <ServerTabs server={server} serverList={data} canOperate={canOperate} />
          )
        }
      </QueryResult>
    </Screen>
  );
}

function ServerTabs({ server, serverList, canOperate }: { server: Server; serverList: ServerList; canOperate: boolean }): ReactElement {
  const [tab, setSelected] = useParam("tab", "tools");
  const board = useBoard();
  const tools = board.data?.tools.filter((tool) => tool.toolsetId === server.toolsetId && tool.serverId === server.serverId);
  return (
    <>
      <AttentionNotice server={server} canOperate={canOperate} />
      <ServerFacts server={server} />
      <Tabs<ServerTab>
        name="Parts of the server"
        tabs={[
          { id: "tools", label: "Tools", count: toolCounts(server)[1] },
          { id: "log", label: "Log" },
          { id: "setup", label: "Set-up" },
        ]}
        selected={tab === "log" || tab === "setup" ? tab : "tools"}
        onChange={setSelected}
      >
        {tab === "log" ? (
          <LogTail id={server.id} />
        ) : tab === "setup" ? (
          <ServerSetup server={server} version={serverList.policyVersion} canOperate={canOperate} />
        ) : (
          <QueryResult query={board} placeholder={<Skeleton lines={5} height={36} />}>
            {(loadedBoard) => <ToolRows tools={tools ?? []} version={loadedBoard.policyVersion} emptyMessage={emptyToolsMessage(server)} />}
          </QueryResult>
        )}
      </Tabs>
      {server.problems.length > 0 && (
        <section className="sheet">
          <h2>{formatCount(server.problems.length, "flaw")} in what it lists</h2>
          <ul className="dotted">
            {server.problems.map((problem) => (
              <li key={problem.name} className="wrap-any">
                It {problem.message}
              </li>
            ))}
          </ul>
        </section>
      )}
    </>
  );
}

function emptyToolsMessage(server: Server): string {
  if (server.review !== null) return "It waits for a review and is not started before. Once it is released, its tools are here.";
  if (!server.active) return "It is off. Once it is started, its tools are here.";
  if (server.health.state === "up") return "It is up and lists no tools.";
  return "It has listed no tools yet. What it is waiting for stands above.";
}

/** What prevents it from working, with the one thing to do. */
function AttentionNotice({ server, canOperate }: { server: Server; canOperate: boolean }): ReactElement | null {
  const { health } = server;
  if (server.review !== null) return <ServerReviewPanel server={server} canOperate={canOperate} />;
  if (health.state === "needs_sign_in") {
    return (
      <Notice tone="needs_action" action={canOperate && <SignInButton id={server.id} />}>
        <strong>It wants a person to sign in.</strong> <span className="wrap-any">{health.message}</span>
      </Notice>
    );
  }
  return <DownNotice health={health} />;
}

/** Why it is down, and its last log lines. */
export function DownNotice({ health }: { health: Health }): ReactElement | null {
  if (health.state !== "down") return null;
  return (
    <div className="stack">
      <ErrorMessage error={new Error(`Down: ${health.message}`)} />
      {(health.logTail ?? []).length > 0 && (
        <figure>
          <figcaption className="small muted">The last lines it wrote</figcaption>
          <pre className="code wraps last-lines" tabIndex={0}>
            {(health.logTail ?? []).join("\n")}
          </pre>
        </figure>
      )}
    </div>
  );
}

function ServerFacts({ server }: { server: Server }): ReactElement {
  const callsQuery = useServerCalls();
  const calls = callsQuery.data?.shares.find((entry) => entry.id === server.id);
  const [openCount, totalCount] = toolCounts(server);
  const formatTime = (value: number | null | undefined): string => (value == null ? "–" : formatDuration(value));
  return (
    <dl className="facts">
      <Fact name="Health">
        <HealthStatus health={server.health} review={server.review} />
      </Fact>
      <Fact name="Kind">{transportName(server.connection)}</Fact>
      <Fact name="Tools open / all">
        {formatNumber(openCount)} / {formatNumber(totalCount)}
      </Fact>
      <Fact name="Calls, last day">{formatNumber(calls?.calls ?? 0)}</Fact>
      <Fact name="p50 / p95">
        {formatTime(calls?.p50Ms)} / {formatTime(calls?.p95Ms)}
      </Fact>
      <Fact name="Last error">
        <LastError server={server} calls={calls} />
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
