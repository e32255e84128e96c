/** Toolsets that somebody made; those of a single server are among the servers. */
import type { DragEvent, ReactElement } from "react";
import { useAnswer } from "@/api/answers";
import { useMay } from "@/api/session";
import { useToolsets, type Toolset, type Wall } from "@/api/servers";
import { go, useParam } from "@/lib/place";
import { command, count, number } from "@/lib/words";
import { Answered, ButtonLink, EmptyState, Link, Screen, SearchField, Skeleton, Table, Tag, type Column } from "@/parts";
import { HealthTold } from "@/screens/servers/standing";
import { ToolsetSwitch } from "./acting";
import { drop } from "./dropped";

type Counts = Wall["toolsets"][number]["counts"];

export function List(): ReactElement {
  const toolsets = useToolsets();
  const may = useMay("operate");
  const mayImport = useMay("admin");
  // The counts of all toolsets are in every page of the wall: one peg will do.
  const wall = useAnswer<Wall>(["board", "servers", "toolsets", "policy"], "/board", { limit: 1 });
  const counts = new Map(wall.data?.toolsets.map((each) => [each.id, each.counts]));
  const [typed, setTyped] = useParam("q");
  const dropped = (event: DragEvent): void => {
    const file = event.dataTransfer.files[0];
    if (!mayImport || file === undefined) return;
    event.preventDefault();
    drop(file);
    go("/toolsets", { import: "1" });
  };
  return (
    <Screen
      title="Toolsets"
      lead="Tools, servers and containers that come, are switched and go together."
      json={{ path: "/toolsets" }}
      command={command("pegboard", "toolset", "list")}
      actions={mayImport && <ButtonLink look="main" icon="upload" to="/toolsets" query={{ import: "1" }}>Import</ButtonLink>}
    >
      <div className="drop-page" onDragOver={(event) => event.preventDefault()} onDrop={dropped}>
        <Answered of={toolsets} waiting={<Skeleton lines={6} height={44} />}>
          {(answer) => {
            const made = answer.toolsets.filter((toolset) => !toolset.userMcp);
            if (made.length === 0) return <Nothing may={mayImport} single={answer.toolsets.length} />;
            const word = typed.toLowerCase();
            const found = made.filter((each) => `${each.id} ${each.name} ${each.description}`.toLowerCase().includes(word));
            return (
              <>
                <div className="servers-filters">
                  <SearchField label="Filter toolsets" value={typed} onChange={setTyped} />
                </div>
                {found.length === 0 ? (
                  <EmptyState icon="toolsets" title="No toolset fits">
                    {number(made.length)} are there.
                  </EmptyState>
                ) : (
                  <Table
                    name="Toolsets"
                    columns={columns(counts, answer.policyVersion, may)}
                    rows={found}
                    rowKey={(toolset) => toolset.id}
                    onOpen={(toolset) => go("/toolsets", { id: toolset.id })}
                  />
                )}
              </>
            );
          }}
        </Answered>
      </div>
    </Screen>
  );
}

export function allOf(counts: Counts): number {
  return counts.open + counts.locked + counts.wants + counts.broken + counts.gone;
}

function columns(counts: ReadonlyMap<string, Counts>, version: number, may: boolean): readonly Column<Toolset>[] {
  return [
    {
      id: "name",
      head: "Toolset",
      cell: (toolset) => (
        <span className="server-name">
          <span className="row tight">
            <Link to="/toolsets" query={{ id: toolset.id }} className="strong wrap-any">
              {toolset.name}
            </Link>
            {toolset.version !== "" && <Tag>{toolset.version}</Tag>}
            {!toolset.enabled && <Tag tone="locked">Disabled</Tag>}
            {toolset.linked !== null && <Tag title={toolset.linked}>linked</Tag>}
          </span>
          <span className="quiet small toolset-words">{toolset.description || toolset.id}</span>
        </span>
      ),
    },
    {
      id: "tools",
      head: "Open / all",
      end: true,
      cell: ({ id }) => {
        const told = counts.get(id);
        return told === undefined ? <span className="quiet">–</span> : `${number(told.open)} / ${number(allOf(told))}`;
      },
    },
    {
      id: "wants",
      head: "Want you",
      end: true,
      cell: ({ id }) => {
        const wants = counts.get(id)?.wants ?? 0;
        return wants === 0 ? <span className="quiet">–</span> : <Tag tone="wants">{number(wants)}</Tag>;
      },
    },
    { id: "servers", head: "Servers", end: true, cell: ({ servers }) => number(servers.length) },
    { id: "health", head: "Health", cell: ({ health }) => <HealthTold health={health} /> },
    {
      id: "switch",
      head: "On",
      end: true,
      cell: (toolset) => <ToolsetSwitch toolset={toolset} version={version} disabled={!may} />,
    },
  ];
}

function Nothing({ may, single }: { may: boolean; single: number }): ReactElement {
  return (
    <EmptyState
      icon="toolsets"
      title="No toolset was imported yet"
      action={
        <>
          {may && (
            <ButtonLink look="main" icon="upload" to="/toolsets" query={{ import: "1" }}>
              Import a toolset
            </ButtonLink>
          )}
          {single > 0 && <ButtonLink to="/servers">{count(single, "server")} with tools of their own</ButtonLink>}
        </>
      }
    >
      Drop a ZIP or a toolset.yaml here. You read what it brings and changes before anything is installed.
    </EmptyState>
  );
}
