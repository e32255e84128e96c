/** One tool: its definition, why it is open or locked, its override, a trial, and its history. */
import { useMemo, useState, type ReactElement } from "react";
import { useApiQuery, useAllPages } from "@/api/queries";
import { useHasScope } from "@/api/session";
import { useVersionGuard } from "@/api/version-guard";
import type { Board, ToolCardResponse, ToolCard } from "@/api/types";
import { buildTextIndex, searchInOrder } from "@/lib/text-search";
import { useParam } from "@/lib/router";
import { shellCommand, formatCount } from "@/lib/format";
import { ConsentLines } from "@/screens/approvals/Consents";
import { SuggestedActionButton } from "@/screens/board/SuggestedActionButton";
import { lockReason, isLockedDespiteSwitch } from "@/screens/board/lock-reason";
import { OtherCallers } from "@/screens/board/OtherCallers";
import { ViewAs, useCallerView, clearNarrowing } from "@/screens/board/ViewAs";
import { switchSnapshot, DisableToolsDialog, useToolSwitch } from "@/screens/board/switching";
import { QueryResult, EmptyState, Link, Screen, SearchField, Skeleton, StateMark, Switch, Tabs, VirtualList } from "@/components";
import { ToolDefinition } from "./ToolDefinition";
import { ToolHistory } from "./ToolHistory";
import type { Draft } from "./edit-conflict";
import { possibleTools, Ambiguous } from "./Ambiguous";
import { OverrideTab } from "./OverrideTab";
import type { ToolDefinitionResponse, WhyResponse } from "./types";
import { TryTool } from "./TryTool";
import { WhyTrail } from "./WhyTrail";
import "./tool.css";

export default function ToolScreen(): ReactElement {
  const [id] = useParam("id");
  return id === "" ? <ToolPicker /> : <ToolPage key={id} id={id} />;
}

const TABS = [
  { id: "why", label: "Why" },
  { id: "override", label: "Override" },
  { id: "try", label: "Try it" },
  { id: "history", label: "History" },
] as const;
type TabId = (typeof TABS)[number]["id"];
const COMMANDS = { why: ["why"], override: ["overrides", "show"], try: ["tools", "call"] } as const;

function ToolPage({ id }: { id: string }): ReactElement {
  const view = useCallerView();
  const [tabParam, setTab] = useParam("tab", "why");
  const tab: TabId = TABS.some((each) => each.id === tabParam) ? (tabParam as TabId) : "why";
  // Kept here, so that changing the tab does not lose it.
  const [draft, setDraft] = useState<Draft | null>(null);
  const query = { tool: id, ...view.query };
  const card = useApiQuery<ToolCardResponse>(["board", "policy"], "/board/tool", query);
  const definition = useApiQuery<ToolDefinitionResponse>(["board", "policy"], "/tools/show", query);
  const why = useApiQuery<WhyResponse>(["board", "policy"], "/why", query);
  const possible = card.data === undefined ? possibleTools(card.error) : null;
  if (card.error !== null && possible !== null) {
    return (
      <Screen title={id} json={{ path: "/board/tool", query }} command={shellCommand("pegboard", "why", id, ...view.options)}>
        <Ambiguous id={id} error={card.error} tools={possible} />
      </Screen>
    );
  }
  return (
    <Screen
      title={card.data?.tool.title ?? card.data?.tool.name ?? id}
      lead={<QueryResult query={card} placeholder={<Skeleton lines={2} />}>{(data) => <ToolVerdict card={data} />}</QueryResult>}
      actions={<ViewAs view={view} toolsets={[]} />}
      json={tab === "history" ? { path: "/tools/history", query } : { path: tab === "why" ? "/why" : "/tools/show", query }}
      command={tab === "history" ? shellCommand("pegboard", "activity", "list", "--tool", id) : shellCommand("pegboard", ...COMMANDS[tab], id, ...view.options)}
    >
      {card.data?.tool.verdict === "missing" ? (
        <GoneTool tool={card.data.tool} />
      ) : (
        <div className="split lead">
          <QueryResult query={definition} placeholder={<Skeleton lines={14} height={24} />}>
            {(data) => (card.data === undefined ? <Skeleton lines={14} height={24} /> : <ToolDefinition tool={card.data.tool} definition={data} />)}
          </QueryResult>
          <section className="sheet tool-tabs" aria-label="About the tool">
            <Tabs name="About the tool" tabs={TABS} selected={tab} onChange={setTab}>
              {tab === "why" && <WhyTrail id={id} view={view.query} />}
              {tab === "override" && card.data && definition.data && <OverrideTab tool={card.data.tool} definition={definition.data} draft={draft} onDraft={setDraft} />}
              {tab === "try" && card.data && definition.data && (
                <TryTool
                  tool={card.data.tool}
                  definition={definition.data}
                  overrides={why.data?.overrides ?? []}
                  principal={view.principal}
                  view={view.query}
                />
              )}
              {tab === "history" && <ToolHistory id={id} view={view.query} />}
            </Tabs>
          </section>
        </div>
      )}
    </Screen>
  );
}

/** The state with its reason and remedy, and the switch. */
function ToolVerdict({ card: { tool: tool, presentation, otherCallers: others, policyVersion } }: { card: ToolCardResponse }): ReactElement {
  const canOperate = useHasScope("operate");
  const [disableOpen, setDisableOpen] = useState(false);
  const guard = useVersionGuard(policyVersion, disableOpen, switchSnapshot(tool));
  const { setToolsEnabled, busy } = useToolSwitch(guard);
  return (
    <div className="tool-verdict">
      <div className="row">
        <StateMark state={tool.state} />
        {tool.status !== null && <code className="muted">{tool.status}</code>}
        {canOperate && tool.verdict !== "missing" && (
          <Switch
            label={isLockedDespiteSwitch(tool) ? lockReason(tool) : tool.enabled ? "Switched on" : "Switched off"}
            checked={tool.enabled}
            disabled={busy}
            onChange={(enabled) => (enabled ? void setToolsEnabled({ tools: [tool], enabled }) : setDisableOpen(true))}
          />
        )}
      </div>
      {tool.message !== null && <p className="wrap-any">{tool.message}</p>}
      {tool.unlisted && presentation !== null && <p className="wrap-any">{presentation.unlistedToolMessage}</p>}
      <OtherCallers tool={tool.id} callers={others} />
      {tool.otherReasons.map((each) => (
        <p key={each} className="muted small wrap-any">
          {each}
        </p>
      ))}
      <div className="row">
        {tool.remedy !== null && <span className="muted wrap-any">{tool.remedy}</span>}
        <SuggestedActionButton subject={tool} version={policyVersion} onWiden={clearNarrowing} />
      </div>
      <ConsentLines tool={tool.id} />
      {disableOpen && (
        <DisableToolsDialog
          tools={[tool]}
          guard={guard}
          busy={busy}
          onClose={() => setDisableOpen(false)}
          onConfirm={(note) => void setToolsEnabled({ tools: [tool], enabled: false }, note).then((done) => done && setDisableOpen(false))}
        />
      )}
    </div>
  );
}

function GoneTool({ tool }: { tool: ToolCard }): ReactElement {
  return (
    <div className="sheet">
      <EmptyState icon="tool" title="Its provider does not offer it any more">
        What people decided about <code>{tool.id}</code> is kept, and holds again when it comes back.
      </EmptyState>
      <ToolHistory id={tool.id} view={{}} />
    </div>
  );
}

const ROW_HEIGHT_PX = 36;

/** The list of tools, shown without an id. */
function ToolPicker(): ReactElement {
  const [filterText, setFilterText] = useParam("q");
  const board = useAllPages<Board>(["board"], "/board", {}, (before, next) => ({ ...next, tools: [...before.tools, ...next.tools] }));
  const index = useMemo(() => buildTextIndex(board.data?.tools ?? [], (tool) => `${tool.name} ${tool.id}`), [board.data]);
  const matches = useMemo(() => searchInOrder(index, filterText), [index, filterText]);
  return (
    <Screen title="Tool" lead="Every tool with its reason: choose one." json={{ path: "/board" }} command={shellCommand("pegboard", "tools", "list")}>
      <div className="stack">
        <SearchField label="Find a tool" value={filterText} onChange={setFilterText} placeholder="Name or id" />
        <QueryResult query={board} placeholder={<Skeleton lines={10} height={32} />}>
          {(data) =>
            matches.length === 0 ? (
              <EmptyState icon="search" title={data.tools.length === 0 ? "No tools yet" : "No tool has these words"}>
                {data.tools.length === 0 ? "Add a server, and its tools are here." : `There are ${formatCount(data.tools.length, "tool")} in all.`}
              </EmptyState>
            ) : (
              <VirtualList name="Tools" rows={matches} rowKey={(tool) => tool.id} height={() => ROW_HEIGHT_PX} boxHeight={`min(70vh, ${matches.length * ROW_HEIGHT_PX + 2}px)`}>
                {(tool) => (
                  <Link to="/tool" query={{ id: tool.id }} className="tool-line">
                    <StateMark state={tool.state} label="screen-reader" />
                    <b className="mono truncate">{tool.name}</b>
                    <span className="muted mono small truncate">{tool.id}</span>
                  </Link>
                )}
              </VirtualList>
            )
          }
        </QueryResult>
      </div>
    </Screen>
  );
}
