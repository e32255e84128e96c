/** Every server, whichever toolset it belongs to. */
import { useMemo, type ReactElement } from "react";
import { useMay } from "@/api/session";
import { useServers, useShares, type Server, type Share } from "@/api/servers";
import { go, useListParam, useParam } from "@/lib/place";
import { command, number, span } from "@/lib/words";
import { Answered, ButtonLink, Chips, EmptyState, Link, Screen, SearchField, Skeleton, Table, Tag, type Column } from "@/parts";
import { RestartIcon, SignInButton } from "./acting";
import { LastError } from "./LastError";
import { HEALTHS, HealthMark, HealthTold, kindOf, nameOf, openOf, placeOf } from "./standing";

export function List(): ReactElement {
  const servers = useServers();
  const shares = useShares();
  const may = useMay("operate");
  const [typed, setTyped] = useParam("q");
  const [chosen, choose] = useListParam("health");
  const byId = useMemo(() => new Map((shares.data?.shares ?? []).map((share) => [share.id, share])), [shares.data]);
  return (
    <Screen
      title="MCP Servers"
      lead="Where tools come from: programs on this machine and addresses elsewhere."
      json={{ path: "/servers" }}
      command={command("pegboard", "servers", "list")}
      actions={may && <ButtonLink look="main" icon="plus" to="/servers" query={{ add: "paste" }}>Add a server</ButtonLink>}
    >
      <Answered of={servers} waiting={<Skeleton lines={8} height={44} />}>
        {(answer) => {
          if (answer.servers.length === 0) return <Nothing may={may} />;
          const words = typed.toLowerCase().split(/\s+/);
          const found = answer.servers.filter((server) => {
            const text = `${server.id} ${placeOf(server.connection)} ${server.health.sentence}`.toLowerCase();
            return words.every((word) => text.includes(word)) && (chosen.length === 0 || chosen.includes(server.health.state));
          });
          const counts: Partial<Record<(typeof HEALTHS)[number], number>> = {};
          for (const { health } of answer.servers) counts[health.state] = (counts[health.state] ?? 0) + 1;
          const there = HEALTHS.filter((state) => (counts[state] ?? 0) > 0 || chosen.includes(state));
          return (
            <>
              <div className="servers-filters">
                <SearchField label="Filter servers" value={typed} onChange={setTyped} />
                <Chips name="Health" among={there} chosen={chosen} onChange={choose} counts={counts} show={(state) => <HealthMark state={state} />} />
              </div>
              {found.length === 0 ? (
                <EmptyState icon="servers" title="No server fits">
                  {number(answer.servers.length)} are there. Take a word or a chip away.
                </EmptyState>
              ) : (
                <Table
                  name="Servers"
                  columns={columns(answer.servers, byId, may)}
                  rows={found}
                  rowKey={(server) => server.id}
                  onOpen={(server) => go("/servers", { id: server.id })}
                />
              )}
            </>
          );
        }}
      </Answered>
    </Screen>
  );
}

function columns(all: readonly Server[], shares: ReadonlyMap<string, Share>, may: boolean): readonly Column<Server>[] {
  return [
    {
      id: "name",
      head: "Server",
      cell: (server) => (
        <span className="server-name">
          <span className="row tight">
            <Link to="/servers" query={{ id: server.id }} className="strong wrap-any">
              {nameOf(server, all)}
            </Link>
            {!server.userMcp && <Tag title="It belongs to this toolset">{server.toolsetId}</Tag>}
          </span>
          <span className="mono quiet small cut server-place" title={placeOf(server.connection)}>
            {placeOf(server.connection)}
          </span>
        </span>
      ),
    },
    { id: "kind", head: "Kind", cell: (server) => <span className="nowrap">{kindOf(server.connection)}</span> },
    { id: "health", head: "Health", cell: (server) => <HealthTold health={server.health} review={server.review} /> },
    {
      id: "tools",
      head: "Open / all",
      end: true,
      cell: (server) => {
        const [open, every] = openOf(server);
        return (
          <span title={`${open} of ${every} tools are open`}>
            {number(open)} / {number(every)}
          </span>
        );
      },
    },
    {
      id: "times",
      head: "p50 / p95",
      end: true,
      cell: (server) => {
        const share = shares.get(server.id);
        return share?.p50Ms == null ? <span className="quiet">–</span> : `${span(share.p50Ms)} / ${span(share.p95Ms ?? share.p50Ms)}`;
      },
    },
    { id: "error", head: "Last error", cell: (server) => <LastError server={server} share={shares.get(server.id)} /> },
    {
      id: "act",
      head: <span className="unseen">Actions</span>,
      cell: (server) => (
        <span className="server-act">
          {may && server.health.state === "needs_sign_in" && <SignInButton id={server.id} small />}
          {server.review !== null && <ButtonLink small to="/servers" query={{ id: server.id }}>Review</ButtonLink>}
          {may && server.on && server.review === null && server.health.state !== "needs_sign_in" && <RestartIcon server={server} />}
        </span>
      ),
    },
  ];
}

function Nothing({ may }: { may: boolean }): ReactElement {
  return (
    <EmptyState
      icon="servers"
      title="No server is here yet"
      action={
        may && (
          <>
            <ButtonLink look="main" icon="plus" to="/servers" query={{ add: "paste" }}>
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
