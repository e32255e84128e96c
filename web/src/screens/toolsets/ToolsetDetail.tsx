/** One toolset: its tools, its servers and its contents. */
import type { ReactElement } from "react";
import { useApiQuery } from "@/api/queries";
import { useHasScope } from "@/api/session";
import { useToolsets, useBoard, type Server, type Toolset } from "@/api/servers";
import { useParam } from "@/lib/router";
import { formatBytes, shellCommand, formatCount, formatList, formatNumber } from "@/lib/format";
import { QueryResult, ButtonLink, EmptyState, Link, Notice, Screen, Skeleton, Tabs, Tag, Time } from "@/components";
import { serverPath } from "@/screens/servers/server-actions";
import { Fact, DownNotice } from "@/screens/servers/ServerDetail";
import { LogTail } from "@/screens/servers/LogTail";
import { DescriptionItem } from "@/screens/servers/ServerSetup";
import { HealthStatus, transportName, connectionText } from "@/screens/servers/server-health";
import { ToolRows } from "@/screens/servers/ToolRows";
import { ExportButton, RemoveToolsetButton, SecretForm, toolsetPath, ToolsetSwitch } from "./toolset-actions";
import { ToolChoice } from "./ToolChoice";
import { totalTools } from "./ToolsetList";

type ToolsetTab = "tools" | "choice" | "servers" | "brings" | "worker";

export function ToolsetDetail({ id }: { id: string }): ReactElement {
  const toolsets = useToolsets();
  const canOperate = useHasScope("operate");
  const toolset = toolsets.data?.toolsets.find((each) => each.id === id);
  const version = toolsets.data?.policyVersion ?? 0;
  return (
    <Screen
      title={toolset?.name ?? id}
      lead={<Link to="/toolsets">All toolsets</Link>}
      json={{ path: toolsetPath(id) }}
      command={shellCommand("pegboard", "toolset", "show", id)}
      actions={
        toolset !== undefined && (
          <>
            <ToolsetSwitch toolset={toolset} version={version} disabled={!canOperate} labelled />
            <ExportButton toolset={toolset} />
            {canOperate && toolset.origin.kind === "installed" && <RemoveToolsetButton toolset={toolset} version={version} />}
          </>
        )
      }
    >
      <QueryResult query={toolsets} placeholder={<Skeleton lines={9} height={36} />}>
        {() =>
          toolset === undefined ? (
            <EmptyState icon="toolsets" title={`There is no toolset ${id}`} action={<ButtonLink variant="primary" to="/toolsets">All toolsets</ButtonLink>}>
              It may have been removed.
            </EmptyState>
          ) : (
            <ToolsetTabs toolset={toolset} canOperate={canOperate} />
          )
        }
      </QueryResult>
    </Screen>
  );
}

function ToolsetTabs({ toolset, canOperate }: { toolset: Toolset; canOperate: boolean }): ReactElement {
  const [tabParam, setSelected] = useParam("tab", "tools");
  const board = useBoard();
  const tools = board.data?.tools.filter((tool) => tool.toolsetId === toolset.id) ?? [];
  const counts = board.data?.toolsets.find((each) => each.id === toolset.id)?.counts;
  const hasFiles = toolset.digest !== null;
  const unsetSecrets = toolset.secrets.filter((secret) => !secret.set).map((secret) => secret.name);
  const tabs: readonly ToolsetTab[] = hasFiles ? ["tools", "choice", "servers", "brings", "worker"] : ["tools", "choice", "servers", "brings"];
  const tab = tabs.find((each) => each === tabParam) ?? "tools";
  const tabLabels: Readonly<Record<ToolsetTab, string>> = { tools: "Tools", choice: "Includes and excludes", servers: "Servers", brings: "What it brings", worker: "Worker" };
  const tabCounts: Partial<Record<ToolsetTab, number>> = { tools: tools.length, servers: toolset.servers.length };
  return (
    <>
      {toolset.description !== "" && <p className="wrap-any toolset-lead">{toolset.description}</p>}
      <DownNotice health={toolset.health} />
      {unsetSecrets.length > 0 && tab !== "brings" && (
        <Notice
          tone="needs_action"
          action={
            canOperate && (
              <ButtonLink small variant="primary" to="/toolsets" query={{ id: toolset.id, tab: "brings" }}>
                Set {unsetSecrets.length === 1 ? "it" : "them"}
              </ButtonLink>
            )
          }
        >
          It asks for {formatCount(unsetSecrets.length, "secret")} that {unsetSecrets.length === 1 ? "is" : "are"} not set: <span className="mono wrap-any">{formatList(unsetSecrets)}</span>
        </Notice>
      )}
      <dl className="facts">
        <Fact name="Health">
          <HealthStatus health={toolset.health} />
        </Fact>
        <Fact name="Version">{toolset.version || "–"}</Fact>
        <Fact name="Tools open / all">{counts === undefined ? "–" : `${formatNumber(counts.open)} / ${formatNumber(totalTools(counts))}`}</Fact>
        <Fact name="Tokens of open ones">{counts === undefined ? "–" : formatNumber(counts.tokens)}</Fact>
        <Fact name="Files">{toolset.files === 0 ? "–" : `${formatNumber(toolset.files)}, ${formatBytes(toolset.bytes)}`}</Fact>
        <Fact name="Imported">{toolset.source === null ? "–" : <Time at={toolset.source.at} />}</Fact>
      </dl>
      <Tabs<ToolsetTab>
        name="Parts of the toolset"
        tabs={tabs.map((each) => ({ id: each, label: tabLabels[each], ...(tabCounts[each] === undefined ? {} : { count: tabCounts[each] }) }))}
        selected={tab}
        onChange={setSelected}
      >
        {tab === "choice" ? (
          <ToolChoice toolset={toolset} />
        ) : tab === "servers" ? (
          <ToolsetServers servers={toolset.servers} />
        ) : tab === "brings" ? (
          <ToolsetContents toolset={toolset} canOperate={canOperate} />
        ) : tab === "worker" ? (
          <WorkerStatus toolset={toolset} />
        ) : (
          <QueryResult query={board} placeholder={<Skeleton lines={5} height={36} />}>
            {(loadedBoard) => (
              <ToolRows
                tools={tools}
                version={loadedBoard.policyVersion}
                emptyMessage={toolset.enabled ? "None of its servers has listed a tool." : "It is off. Switch it on, and its tools are here."}
              />
            )}
          </QueryResult>
        )}
      </Tabs>
    </>
  );
}

function ToolsetServers({ servers }: { servers: readonly Server[] }): ReactElement {
  if (servers.length === 0) return <p className="muted">It brings no MCP servers.</p>;
  return (
    <ul className="tool-lines" aria-label="Servers">
      {servers.map((server) => (
        <li key={server.id} className="tool-line toolset-server">
          <span className="tool-text">
            <Link to="/servers" query={{ id: server.id }} className="strong truncate">
              {server.serverId}
            </Link>
            <span className="mono muted small truncate">{connectionText(server.connection)}</span>
          </span>
          <Tag>{transportName(server.connection)}</Tag>
          <HealthStatus health={server.health} review={server.review} />
        </li>
      ))}
    </ul>
  );
}

function ToolsetContents({ toolset, canOperate }: { toolset: Toolset; canOperate: boolean }): ReactElement {
  const { source, origin } = toolset;
  return (
    <div className="split">
      <section className="sheet stack">
        <h2>Where it comes from</h2>
        <dl className="pairs">
          <DescriptionItem name="Id">
            <span className="mono">{toolset.id}</span>
          </DescriptionItem>
          <DescriptionItem name="Origin">
            {origin.kind === "declared" ? (
              <span className="mono">
                {origin.file}:{origin.line}
              </span>
            ) : (
              <>
                imported by {origin.by}, <Time at={origin.at} />
              </>
            )}
          </DescriptionItem>
          {source !== null && <DescriptionItem name="Source">{source.path ?? `an ${source.kind}`}</DescriptionItem>}
          {source?.commit !== undefined && (
            <DescriptionItem name="Commit">
              <span className="mono">{source.commit}</span> {source.dirty === true && <Tag tone="needs_action">with changes</Tag>}
            </DescriptionItem>
          )}
          {toolset.linkedFolder !== null && <DescriptionItem name="Linked to">{toolset.linkedFolder}</DescriptionItem>}
          {toolset.digest !== null && (
            <DescriptionItem name="Content">
              <span className="mono small">{toolset.digest}</span>
            </DescriptionItem>
          )}
        </dl>
      </section>
      <div className="stack wide">
        <section className="sheet stack">
          <h2>Secrets it asks for</h2>
          {toolset.secrets.length === 0 ? (
            <p className="muted">None.</p>
          ) : (
            toolset.secrets.map((secret) => <SecretForm key={secret.name} toolset={toolset.id} name={secret.name} isSet={secret.set} canOperate={canOperate} />)
          )}
        </section>
        <section className="sheet stack">
          <h2>Python requirements</h2>
          {toolset.requirements.length === 0 ? (
            <p className="muted">None.</p>
          ) : (
            <ul className="mono small">
              {toolset.requirements.map((each) => (
                <li key={each} className="wrap-any">
                  {each}
                </li>
              ))}
            </ul>
          )}
        </section>
        {toolset.problems.length > 0 && (
          <section className="sheet stack">
            <h2>{formatCount(toolset.problems.length, "flaw")} in what it lists</h2>
            <ul className="dotted">
              {toolset.problems.map((problem) => (
                <li key={problem.name} className="wrap-any">
                  It {problem.message}
                </li>
              ))}
            </ul>
          </section>
        )}
      </div>
    </div>
  );
}

/** The process that runs its Python tools. */
function WorkerStatus({ toolset }: { toolset: Toolset }): ReactElement {
  const worker = useApiQuery<Server>(["servers", "toolsets"], serverPath(toolset.id));
  return (
    <div className="stack">
      <QueryResult query={worker} placeholder={<Skeleton lines={2} />}>
        {(server) => (
          <div className="row">
            <HealthStatus health={server.health} review={server.review} />
            <span className="muted wrap-any">{server.health.message}</span>
          </div>
        )}
      </QueryResult>
      <LogTail id={toolset.id} />
    </div>
  );
}
