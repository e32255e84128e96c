/** Imported toolsets. Toolsets of a single server are listed with the servers. */
import type { DragEvent, ReactElement } from "react";
import { useApiQuery } from "@/api/queries";
import { useHasScope } from "@/api/session";
import { useToolsets, type Toolset } from "@/api/servers";
import type { Board } from "@/api/types";
import { navigate, useParam } from "@/lib/router";
import { shellCommand, formatCount, formatNumber } from "@/lib/format";
import { QueryResult, ButtonLink, EmptyState, Link, Screen, SearchField, Skeleton, Table, Tag, type Column } from "@/components";
import { HealthStatus } from "@/screens/servers/server-health";
import { ToolsetSwitch } from "./toolset-actions";
import { setDroppedFile } from "./dropped-file";

type ToolCounts = Board["toolsets"][number]["counts"];

export function ToolsetList(): ReactElement {
  const toolsets = useToolsets();
  const canOperate = useHasScope("operate");
  const canImport = useHasScope("admin");
  // Every page of the board has the counts of all toolsets, so one card is enough.
  const boardQuery = useApiQuery<Board>(["board", "servers", "toolsets", "policy"], "/board", { limit: 1 });
  const counts = new Map(boardQuery.data?.toolsets.map((each) => [each.id, each.counts]));
  const [filterText, setFilterText] = useParam("q");
  const handleDrop = (event: DragEvent): void => {
    const file = event.dataTransfer.files[0];
    if (!canImport || file === undefined) return;
    event.preventDefault();
    setDroppedFile(file);
    navigate("/toolsets", { import: "1" });
  };
  return (
    <Screen
      title="Toolsets"
      lead="Tools, servers and containers that come, are switched and go together."
      json={{ path: "/toolsets" }}
      command={shellCommand("pegboard", "toolset", "list")}
      actions={canImport && <ButtonLink variant="primary" icon="upload" to="/toolsets" query={{ import: "1" }}>Import</ButtonLink>}
    >
      <div className="drop-page" onDragOver={(event) => event.preventDefault()} onDrop={handleDrop}>
        <QueryResult query={toolsets} placeholder={<Skeleton lines={6} height={44} />}>
          {(response) => {
            const imported = response.toolsets.filter((toolset) => !toolset.userMcp);
            if (imported.length === 0) return <NoToolsets canImport={canImport} serverToolsets={response.toolsets.length} />;
            const needle = filterText.toLowerCase();
            const matching = imported.filter((each) => `${each.id} ${each.name} ${each.description}`.toLowerCase().includes(needle));
            return (
              <>
                <div className="servers-filters">
                  <SearchField label="Filter toolsets" value={filterText} onChange={setFilterText} />
                </div>
                {matching.length === 0 ? (
                  <EmptyState icon="toolsets" title="No toolset fits">
                    {formatNumber(imported.length)} are there.
                  </EmptyState>
                ) : (
                  <Table
                    name="Toolsets"
                    columns={toolsetColumns(counts, response.policyVersion, canOperate)}
                    rows={matching}
                    rowKey={(toolset) => toolset.id}
                    onOpen={(toolset) => navigate("/toolsets", { id: toolset.id })}
                  />
                )}
              </>
            );
          }}
        </QueryResult>
      </div>
    </Screen>
  );
}

export function totalTools(counts: ToolCounts): number {
  return counts.open + counts.locked + counts.needs_action + counts.broken + counts.missing;
}

function toolsetColumns(counts: ReadonlyMap<string, ToolCounts>, version: number, canOperate: boolean): readonly Column<Toolset>[] {
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
            {toolset.linkedFolder !== null && <Tag title={toolset.linkedFolder}>linked</Tag>}
          </span>
          <span className="muted small toolset-description">{toolset.description || toolset.id}</span>
        </span>
      ),
    },
    {
      id: "tools",
      head: "Open / all",
      end: true,
      cell: ({ id }) => {
        const toolCounts = counts.get(id);
        return toolCounts === undefined ? <span className="muted">–</span> : `${formatNumber(toolCounts.open)} / ${formatNumber(totalTools(toolCounts))}`;
      },
    },
    {
      id: "needs_action",
      head: "Want you",
      end: true,
      cell: ({ id }) => {
        const pending = counts.get(id)?.needs_action ?? 0;
        return pending === 0 ? <span className="muted">–</span> : <Tag tone="needs_action">{formatNumber(pending)}</Tag>;
      },
    },
    { id: "servers", head: "Servers", end: true, cell: ({ servers }) => formatNumber(servers.length) },
    { id: "health", head: "Health", cell: ({ health }) => <HealthStatus health={health} /> },
    {
      id: "switch",
      head: "On",
      end: true,
      cell: (toolset) => <ToolsetSwitch toolset={toolset} version={version} disabled={!canOperate} />,
    },
  ];
}

function NoToolsets({ canImport, serverToolsets }: { canImport: boolean; serverToolsets: number }): ReactElement {
  return (
    <EmptyState
      icon="toolsets"
      title="No toolset was imported yet"
      action={
        <>
          {canImport && (
            <ButtonLink variant="primary" icon="upload" to="/toolsets" query={{ import: "1" }}>
              Import a toolset
            </ButtonLink>
          )}
          {serverToolsets > 0 && <ButtonLink to="/servers">{formatCount(serverToolsets, "server")} with tools of their own</ButtonLink>}
        </>
      }
    >
      Drop a ZIP or a toolset.yaml here. You read what it brings and changes before anything is installed.
    </EmptyState>
  );
}
