/** All servers of all toolsets. */
import { useMemo, type ReactElement } from "react";
import { useHasScope } from "@/api/session";
import { useServers, useServerCalls, type Server, type ServerCalls } from "@/api/servers";
import { navigate, useListParam, useParam } from "@/lib/router";
import { shellCommand, formatNumber, formatDuration } from "@/lib/format";
import { QueryResult, ButtonLink, ChipGroup, EmptyState, Link, Screen, SearchField, Skeleton, Table, Tag, type Column } from "@/components";
import { RestartIconButton, SignInButton } from "./server-actions";
import { LastError } from "./LastError";
import { HEALTH_STATES, HealthMark, HealthStatus, transportName, serverName, toolCounts, connectionText } from "./server-health";

export function ServerListScreen(): ReactElement {
  const servers = useServers();
  const callsQuery = useServerCalls();
  const canOperate = useHasScope("operate");
  const [filterText, setFilterText] = useParam("q");
  const [selected, setSelected] = useListParam("health");
  const callsById = useMemo(() => new Map((callsQuery.data?.shares ?? []).map((entry) => [entry.id, entry])), [callsQuery.data]);
  return (
    <Screen
      title="MCP Servers"
      lead="Where tools come from: programs on this machine and addresses elsewhere."
      json={{ path: "/servers" }}
      command={shellCommand("pegboard", "servers", "list")}
      actions={canOperate && <ButtonLink variant="primary" icon="plus" to="/servers" query={{ add: "paste" }}>Add a server</ButtonLink>}
    >
      <QueryResult query={servers} placeholder={<Skeleton lines={8} height={44} />}>
        {(response) => {
          if (response.servers.length === 0) return <NoServers canOperate={canOperate} />;
          const words = filterText.toLowerCase().split(/\s+/);
          const matching = response.servers.filter((server) => {
            const text = `${server.id} ${connectionText(server.connection)} ${server.health.message}`.toLowerCase();
            return words.every((word) => text.includes(word)) && (selected.length === 0 || selected.includes(server.health.state));
          });
          const counts: Partial<Record<(typeof HEALTH_STATES)[number], number>> = {};
          for (const { health } of response.servers) counts[health.state] = (counts[health.state] ?? 0) + 1;
          const options = HEALTH_STATES.filter((state) => (counts[state] ?? 0) > 0 || selected.includes(state));
          return (
            <>
              <div className="servers-filters">
                <SearchField label="Filter servers" value={filterText} onChange={setFilterText} />
                <ChipGroup name="Health" options={options} selected={selected} onChange={setSelected} counts={counts} renderOption={(state) => <HealthMark state={state} />} />
              </div>
              {matching.length === 0 ? (
                <EmptyState icon="servers" title="No server fits">
                  {formatNumber(response.servers.length)} are there. Take a word or a chip away.
                </EmptyState>
              ) : (
                <Table
                  name="Servers"
                  columns={serverColumns(response.servers, callsById, canOperate)}
                  rows={matching}
                  rowKey={(server) => server.id}
                  onOpen={(server) => navigate("/servers", { id: server.id })}
                />
              )}
            </>
          );
        }}
      </QueryResult>
    </Screen>
  );
}

function serverColumns(allServers: readonly Server[], callsById: ReadonlyMap<string, ServerCalls>, canOperate: boolean): readonly Column<Server>[] {
  return [
    {
      id: "name",
      head: "Server",
      cell: (server) => (
        <span className="server-name">
          <span className="row tight">
            <Link to="/servers" query={{ id: server.id }} className="strong wrap-any">
              {serverName(server, allServers)}
            </Link>
            {!server.userMcp && <Tag title="It belongs to this toolset">{server.toolsetId}</Tag>}
          </span>
          <span className="mono muted small truncate server-place" title={connectionText(server.connection)}>
            {connectionText(server.connection)}
          </span>
        </span>
      ),
    },
    { id: "kind", head: "Kind", cell: (server) => <span className="nowrap">{transportName(server.connection)}</span> },
    { id: "health", head: "Health", cell: (server) => <HealthStatus health={server.health} review={server.review} /> },
    {
      id: "tools",
      head: "Open / all",
      end: true,
      cell: (server) => {
        const [openCount, totalCount] = toolCounts(server);
        return (
          <span title={`${openCount} of ${totalCount} tools are open`}>
            {formatNumber(openCount)} / {formatNumber(totalCount)}
          </span>
        );
      },
    },
    {
      id: "times",
      head: "p50 / p95",
      end: true,
      cell: (server) => {
        const calls = callsById.get(server.id);
        return calls?.p50Ms == null ? <span className="muted">–</span> : `${formatDuration(calls.p50Ms)} / ${formatDuration(calls.p95Ms ?? calls.p50Ms)}`;
      },
    },
    { id: "error", head: "Last error", cell: (server) => <LastError server={server} calls={callsById.get(server.id)} /> },
    {
      id: "act",
      head: <span className="visually-hidden">Actions</span>,
      cell: (server) => (
        <span className="server-act">
          {canOperate && server.health.state === "needs_sign_in" && <SignInButton id={server.id} small />}
          {server.review !== null && <ButtonLink small to="/servers" query={{ id: server.id }}>Review</ButtonLink>}
          {canOperate && server.active && server.review === null && server.health.state !== "needs_sign_in" && <RestartIconButton server={server} />}
        </span>
      ),
    },
  ];
}

function NoServers({ canOperate }: { canOperate: boolean }): ReactElement {
  return (
    <EmptyState
      icon="servers"
      title="No server is here yet"
      action={
        canOperate && (
          <>
            <ButtonLink variant="primary" icon="plus" to="/servers" query={{ add: "paste" }}>
              Add a server
            </ButtonLink>
            <ButtonLink to="/servers" query={{ add: "client" }}>
              From another client
            </ButtonLink>
          </>
        )
      }
    >
      Paste an address, a command or a piece of another client's configuration. You see what it would bring before anything is saved.
    </EmptyState>
  );
}
