/** One toolset, opened: its tools as they stand, its servers, and what it brings. */
import type { ReactElement } from "react";
import { useAnswer } from "@/api/answers";
import { useMay } from "@/api/session";
import { useToolsets, useWall, type Server, type Toolset } from "@/api/servers";
import { useParam } from "@/lib/place";
import { bytes, command, count, listed, number } from "@/lib/words";
import { Answered, ButtonLink, EmptyState, Link, Notice, Screen, Skeleton, Tabs, Tag, Time } from "@/parts";
import { serverPath } from "@/screens/servers/acting";
import { Fact, Fallen } from "@/screens/servers/Detail";
import { LogTail } from "@/screens/servers/LogTail";
import { Pair } from "@/screens/servers/SetUp";
import { HealthTold, kindOf, placeOf } from "@/screens/servers/standing";
import { ToolLines } from "@/screens/servers/ToolLines";
import { Export, RemoveToolset, Secret, toolsetPath, ToolsetSwitch } from "./acting";
import { Choosing } from "./Choice";
import { allOf } from "./List";

type Part = "tools" | "choice" | "servers" | "brings" | "worker";

export function Detail({ id }: { id: string }): ReactElement {
  const toolsets = useToolsets();
  const may = useMay("operate");
  const toolset = toolsets.data?.toolsets.find((each) => each.id === id);
  const version = toolsets.data?.policyVersion ?? 0;
  return (
    <Screen
      title={toolset?.name ?? id}
      lead={<Link to="/toolsets">All toolsets</Link>}
      json={{ path: toolsetPath(id) }}
      command={command("pegboard", "toolset", "show", id)}
      actions={
        toolset !== undefined && (
          <>
            <ToolsetSwitch toolset={toolset} version={version} disabled={!may} labelled />
            <Export toolset={toolset} />
            {may && toolset.origin.kind === "installed" && <RemoveToolset toolset={toolset} version={version} />}
          </>
        )
      }
    >
      <Answered of={toolsets} waiting={<Skeleton lines={9} height={36} />}>
        {() =>
          toolset === undefined ? (
            <EmptyState icon="toolsets" title={`There is no toolset ${id}`} action={<ButtonLink look="main" to="/toolsets">All toolsets</ButtonLink>}>
              It may have been removed.
            </EmptyState>
          ) : (
            <Opened toolset={toolset} may={may} />
          )
        }
      </Answered>
    </Screen>
  );
}

function Opened({ toolset, may }: { toolset: Toolset; may: boolean }): ReactElement {
  const [part, choose] = useParam("tab", "tools");
  const wall = useWall();
  const pegs = wall.data?.pegs.filter((peg) => peg.toolsetId === toolset.id) ?? [];
  const counts = wall.data?.toolsets.find((each) => each.id === toolset.id)?.counts;
  const own = toolset.digest !== null;
  const unset = toolset.secrets.filter((secret) => !secret.set).map((secret) => secret.name);
  const known: readonly Part[] = own ? ["tools", "choice", "servers", "brings", "worker"] : ["tools", "choice", "servers", "brings"];
  const chosen = known.find((each) => each === part) ?? "tools";
  const names: Readonly<Record<Part, string>> = { tools: "Tools", choice: "Includes and excludes", servers: "Servers", brings: "What it brings", worker: "Worker" };
  const counted: Partial<Record<Part, number>> = { tools: pegs.length, servers: toolset.servers.length };
  return (
    <>
      {toolset.description !== "" && <p className="wrap-any toolset-lead">{toolset.description}</p>}
      <Fallen health={toolset.health} />
      {unset.length > 0 && chosen !== "brings" && (
        <Notice
          tone="wants"
          action={
            may && (
              <ButtonLink small look="main" to="/toolsets" query={{ id: toolset.id, tab: "brings" }}>
                Set {unset.length === 1 ? "it" : "them"}
              </ButtonLink>
            )
          }
        >
          It asks for {count(unset.length, "secret")} that {unset.length === 1 ? "is" : "are"} not set: <span className="mono wrap-any">{listed(unset)}</span>
        </Notice>
      )}
      <dl className="facts">
        <Fact name="Health">
          <HealthTold health={toolset.health} />
        </Fact>
        <Fact name="Version">{toolset.version || "–"}</Fact>
        <Fact name="Tools open / all">{counts === undefined ? "–" : `${number(counts.open)} / ${number(allOf(counts))}`}</Fact>
        <Fact name="Tokens of open ones">{counts === undefined ? "–" : number(counts.tokens)}</Fact>
        <Fact name="Files">{toolset.files === 0 ? "–" : `${number(toolset.files)}, ${bytes(toolset.bytes)}`}</Fact>
        <Fact name="Imported">{toolset.source === null ? "–" : <Time at={toolset.source.at} />}</Fact>
      </dl>
      <Tabs<Part>
        name="Parts of the toolset"
        tabs={known.map((each) => ({ id: each, label: names[each], ...(counted[each] === undefined ? {} : { count: counted[each] }) }))}
        chosen={chosen}
        onChange={choose}
      >
        {chosen === "choice" ? (
          <Choosing toolset={toolset} />
        ) : chosen === "servers" ? (
          <Servers servers={toolset.servers} />
        ) : chosen === "brings" ? (
          <Brings toolset={toolset} may={may} />
        ) : chosen === "worker" ? (
          <Worker toolset={toolset} />
        ) : (
          <Answered of={wall} waiting={<Skeleton lines={5} height={36} />}>
            {(told) => (
              <ToolLines
                pegs={pegs}
                version={told.policyVersion}
                nothing={toolset.enabled ? "None of its servers has listed a tool." : "It is off. Switch it on, and its tools are here."}
              />
            )}
          </Answered>
        )}
      </Tabs>
    </>
  );
}

function Servers({ servers }: { servers: readonly Server[] }): ReactElement {
  if (servers.length === 0) return <p className="quiet">It brings no MCP servers.</p>;
  return (
    <ul className="tool-lines" aria-label="Servers">
      {servers.map((server) => (
        <li key={server.id} className="tool-line toolset-server">
          <span className="tool-words">
            <Link to="/servers" query={{ id: server.id }} className="strong cut">
              {server.serverId}
            </Link>
            <span className="mono quiet small cut">{placeOf(server.connection)}</span>
          </span>
          <Tag>{kindOf(server.connection)}</Tag>
          <HealthTold health={server.health} review={server.review} />
        </li>
      ))}
    </ul>
  );
}

function Brings({ toolset, may }: { toolset: Toolset; may: boolean }): ReactElement {
  const { source, origin } = toolset;
  return (
    <div className="split">
      <section className="sheet stack">
        <h2>Where it comes from</h2>
        <dl className="pairs">
          <Pair name="Id">
            <span className="mono">{toolset.id}</span>
          </Pair>
          <Pair name="Origin">
            {origin.kind === "declared" ? (
              <span className="mono">
                {origin.file}:{origin.line}
              </span>
            ) : (
              <>
                imported by {origin.by}, <Time at={origin.at} />
              </>
            )}
          </Pair>
          {source !== null && <Pair name="Source">{source.path ?? `an ${source.kind}`}</Pair>}
          {source?.commit !== undefined && (
            <Pair name="Commit">
              <span className="mono">{source.commit}</span> {source.dirty === true && <Tag tone="wants">with changes</Tag>}
            </Pair>
          )}
          {toolset.linked !== null && <Pair name="Linked to">{toolset.linked}</Pair>}
          {toolset.digest !== null && (
            <Pair name="Content">
              <span className="mono small">{toolset.digest}</span>
            </Pair>
          )}
        </dl>
      </section>
      <div className="stack wide">
        <section className="sheet stack">
          <h2>Secrets it asks for</h2>
          {toolset.secrets.length === 0 ? (
            <p className="quiet">None.</p>
          ) : (
            toolset.secrets.map((secret) => <Secret key={secret.name} toolset={toolset.id} name={secret.name} isSet={secret.set} may={may} />)
          )}
        </section>
        <section className="sheet stack">
          <h2>Python requirements</h2>
          {toolset.requirements.length === 0 ? (
            <p className="quiet">None.</p>
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
        {toolset.flaws.length > 0 && (
          <section className="sheet stack">
            <h2>{count(toolset.flaws.length, "flaw")} in what it lists</h2>
            <ul className="dotted">
              {toolset.flaws.map((flaw) => (
                <li key={flaw.name} className="wrap-any">
                  It {flaw.sentence}
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
function Worker({ toolset }: { toolset: Toolset }): ReactElement {
  const own = useAnswer<Server>(["servers", "toolsets"], serverPath(toolset.id));
  return (
    <div className="stack">
      <Answered of={own} waiting={<Skeleton lines={2} />}>
        {(server) => (
          <div className="row">
            <HealthTold health={server.health} review={server.review} />
            <span className="quiet wrap-any">{server.health.sentence}</span>
          </div>
        )}
      </Answered>
      <LogTail id={toolset.id} />
    </div>
  );
}
