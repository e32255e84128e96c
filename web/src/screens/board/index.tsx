/** The board: toolsets with their tools, and for every locked tool the reason. */
import { useMemo, useRef, useState, type ReactElement } from "react";
import { useAllPages } from "@/api/queries";
import { useHasScope } from "@/api/session";
import { useVersionGuard } from "@/api/version-guard";
import type { Board, ToolHints, ToolCard } from "@/api/types";
import { updateQuery, useListParam, useParam } from "@/lib/router";
import { formatCount, formatNumber } from "@/lib/format";
import { QueryResult, Button, ButtonLink, ChipGroup, EmptyState, Icon, ConcurrentChangeNotice, providerIcon, Screen, SearchField, Select, Skeleton, StateMark, TOOL_STATES, toast } from "@/components";
import { FirstRun, NextSteps } from "./FirstRun";
import { filterOptions, HINT_LABELS, serverOptions, filterTools, formatTotals, boardIndex, type BoardFilters } from "./layout";
import { Grid } from "./Grid";
import { lockReason, isLockedDespiteSwitch } from "./lock-reason";
import { UnknownTool } from "./UnknownTool";
import { ViewAs, useCallerView, listCommand, type CallerView } from "./ViewAs";
import { switchSnapshot, DisableToolsDialog, useToolSwitch } from "./switching";
import "./board.css";

const FILTER_PARAMS = ["q", "state", "provider", "server", "hint"];
/** Up to this many servers are chips; more are a select. */
const MAX_SERVER_CHIPS = 12;

function useFilters(): BoardFilters {
  const [filterText] = useParam("q");
  const [states] = useListParam("state");
  const [providers] = useListParam("provider");
  const [servers] = useListParam("server");
  const [hints] = useListParam("hint");
  return { filterText, states, providers, servers, hints };
}

function mergePages(previous: Board, next: Board): Board {
  // The version of the first page: the other pages are at least as new.
  return { ...next, policyVersion: previous.policyVersion, tools: [...previous.tools, ...next.tools] };
}

export default function BoardScreen(): ReactElement {
  const view = useCallerView();
  const board = useAllPages<Board>(["board", "servers", "toolsets", "approvals", "policy"], "/board", view.query, mergePages);
  const loaded = board.data;
  const filters = useFilters();
  return (
    <Screen
      title="Wall"
      lead={loaded === undefined ? "…" : <BoardTotals board={loaded} />}
      actions={<ViewAs view={view} toolsets={loaded?.toolsets ?? []} />}
      json={{ path: "/board", query: view.query }}
      command={listCommand(view, filterOptions(filters))}
    >
      <QueryResult query={board} placeholder={<BoardSkeleton />}>
        {(loadedBoard) => <BoardContent board={loadedBoard} view={view} />}
      </QueryResult>
    </Screen>
  );
}

/** The totals of the board and, if clients get a different presentation, what they get. */
function BoardTotals({ board }: { board: Board }): ReactElement {
  return (
    <>
      {formatTotals(board.totals, formatNumber)}
      {board.presentation !== null && <p className="small wrap-any">{board.presentation.message}</p>}
    </>
  );
}

/** As high as the toolbar and a board, so that nothing moves when they load. */
function BoardSkeleton(): ReactElement {
  return (
    <>
      <div className="board-toolbar">
        <Skeleton lines={1} height={32} />
      </div>
      <div className="pegboard board-skeleton" />
    </>
  );
}

/** Whether there are only the gateway's own tools. */
function hasOnlyBuiltins(board: Board): boolean {
  return board.toolsets.every((toolset) => toolset.id === "builtin") && board.tools.every((tool) => tool.provider === "builtin");
}

/** The current state of these tools; one that is gone stays as it was. */
function currentTools(tools: readonly ToolCard[], board: Board): readonly ToolCard[] {
  const currentById = new Map(board.tools.map((tool) => [tool.id, tool]));
  return tools.map((tool) => currentById.get(tool.id) ?? tool);
}

function BoardContent({ board, view }: { board: Board; view: CallerView }): ReactElement {
  const filters = useFilters();
  const { filterText, states, providers, servers, hints } = filters;
  const [, setFilterText] = useParam("q");
  const [, setStates] = useListParam("state");
  const [, setProviders] = useListParam("provider");
  const [, setServers] = useListParam("server");
  const [, setHints] = useListParam("hint");
  const [selectedIds, setSelectedIds] = useState<ReadonlySet<string>>(new Set());
  const [toolsBeingDisabled, setToolsBeingDisabled] = useState<readonly ToolCard[] | null>(null);
  const filterField = useRef<HTMLInputElement>(null);
  const canOperate = useHasScope("operate");
  const singleTool = selectedIds.size === 0 && toolsBeingDisabled?.length === 1 ? currentTools(toolsBeingDisabled, board)[0] : undefined;
  const guard = useVersionGuard(board.policyVersion, selectedIds.size > 0 || toolsBeingDisabled !== null, singleTool === undefined ? "" : switchSnapshot(singleTool));
  const { setToolsEnabled, busy } = useToolSwitch(guard);
  const index = useMemo(() => boardIndex(board), [board]);
  const filtersKey = JSON.stringify(filters);
  const visibleTools = useMemo(() => filterTools(index, JSON.parse(filtersKey) as BoardFilters), [index, filtersKey]);
  const providerCounts = useMemo(() => [...Map.groupBy(board.tools, (tool) => tool.provider)].map(([kind, tools]) => [kind, tools.length] as const), [board]);
  const serverChoices = useMemo(() => serverOptions(board), [board]);
  const isFiltered = filterText !== "" || states.length + providers.length + servers.length + hints.length > 0;
  const selectedTools = useMemo(() => board.tools.filter((tool) => selectedIds.has(tool.id)), [board, selectedIds]);
  const toolsToDisable = useMemo(() => (toolsBeingDisabled === null ? null : currentTools(toolsBeingDisabled, board)), [toolsBeingDisabled, board]);
  if (view.isDefault && hasOnlyBuiltins(board)) return <FirstRun />;

  /** For a selected tool this applies to the whole selection. */
  const toggleTool = (tool: ToolCard): void => {
    if (!canOperate) return;
    const tools = selectedIds.has(tool.id) ? selectedTools : [tool];
    if (tools.length === 1 && isLockedDespiteSwitch(tool)) {
      toast(`${tool.name}: ${lockReason(tool)} ${tool.message ?? ""}`, "needs_action");
      return;
    }
    if (tool.enabled) setToolsBeingDisabled(tools);
    else void enableTools(tools);
  };
  const enableTools = async (tools: readonly ToolCard[]): Promise<void> => {
    // The selection is based on the old version, so it is cleared.
    if ((await setToolsEnabled({ tools, enabled: true })) && tools.some((tool) => selectedIds.has(tool.id))) setSelectedIds(new Set());
  };
  const clear = (): void =>
    updateQuery((query) => {
      for (const name of FILTER_PARAMS) query.delete(name);
    });
  return (
    <div className="board">
      <div className="board-toolbar">
        <div className="row">
          <SearchField
            ref={filterField}
            label="Filter tools"
            placeholder="Type to filter"
            value={filterText}
            onChange={setFilterText}
            onKeyDown={(event) => {
              if (event.key === "Escape" && filterText !== "") {
                event.preventDefault();
                setFilterText("");
              }
              if (event.key === "ArrowDown") {
                event.preventDefault();
                document.querySelector<HTMLElement>(".board-grid [data-tool][tabindex='0']")?.focus();
              }
            }}
          />
          <p className="muted small board-count" role="status">
            {isFiltered ? `${formatNumber(visibleTools.length)} of ${formatCount(board.tools.length, "tool")}` : formatCount(board.tools.length, "tool")}
          </p>
        </div>
      </div>
      <div className="board-filters">
        <ChipGroup name="State" options={TOOL_STATES.filter((state) => board.totals[state] > 0 || states.includes(state))} selected={states} onChange={setStates} counts={board.totals} renderOption={(state) => <StateMark state={state} />} />
        {providerCounts.length > 1 && (
          <ChipGroup
            name="Provider"
            options={providerCounts.map(([kind]) => kind)}
            selected={providers}
            onChange={setProviders}
            counts={Object.fromEntries(providerCounts)}
            renderOption={(kind) => (
              <>
                <Icon name={providerIcon(kind)} size={14} /> {kind}
              </>
            )}
          />
        )}
        {serverChoices.length > 1 && serverChoices.length <= MAX_SERVER_CHIPS && (
          <ChipGroup
            name="Server"
            options={serverChoices.map(({ id }) => id)}
            selected={servers}
            onChange={setServers}
            counts={Object.fromEntries(serverChoices.map(({ id, toolCount: count }) => [id, count]))}
            renderOption={(id) => (
              <>
                <Icon name="servers" size={14} /> {serverChoices.find((count) => count.id === id)?.label ?? id}
              </>
            )}
          />
        )}
        {serverChoices.length > MAX_SERVER_CHIPS && (
          <Select
            label="Server"
            hideLabel
            value={servers[0] ?? ""}
            onChange={(id) => setServers(id === "" ? [] : [id])}
            options={[{ value: "", label: "every server" }, ...serverChoices.map(({ id, label, toolCount: count }) => ({ value: id, label: `${label} (${count})` }))]}
          />
        )}
        <ChipGroup name="Claimed" options={Object.keys(HINT_LABELS) as (keyof ToolHints)[]} selected={hints} onChange={setHints} renderOption={(hint) => <>claims {HINT_LABELS[hint]}</>} />
      </div>
      {visibleTools.length === 0 && (
        <div className="pegboard">
          {isFiltered ? (
            <EmptyState title="No tool passes these filters" icon="filter" action={<Button onClick={clear}>Clear the filters</Button>}>
              {filterText !== "" && <UnknownTool text={filterText} view={view.query} version={board.policyVersion} />}
            </EmptyState>
          ) : (
            <EmptyState title="Nothing hangs here" action={view.isDefault ? <ButtonLink variant="primary" to="/servers" query={{ add: "paste" }}>Add a server</ButtonLink> : undefined}>
              {view.isDefault ? "No provider offers a tool yet." : `${view.principal} gets no tool at all in this view.`}
            </EmptyState>
          )}
        </div>
      )}
      {/* It stays mounted without a match, so that the next keystroke need not render it anew. */}
      <Grid
        board={board}
        tools={visibleTools}
        isFiltered={isFiltered}
        selected={selectedIds}
        onSelect={setSelectedIds}
        onToggle={toggleTool}
        onType={(letter) => {
          setFilterText(filterText + letter);
          filterField.current?.focus();
        }}
      />
      {view.isDefault && !isFiltered && <NextSteps />}
      {selectedIds.size > 0 && (
        <div className="board-selection" role="region" aria-label="Chosen tools">
          <b>{formatCount(selectedTools.length, "tool")} chosen</b>
          {canOperate && (
            <>
              <Button small busy={busy} onClick={() => void enableTools(selectedTools.filter((tool) => !tool.enabled))} disabled={selectedTools.every((tool) => tool.enabled)}>
                Turn on
              </Button>
              <Button small busy={busy} onClick={() => setToolsBeingDisabled(selectedTools.filter((tool) => tool.enabled))} disabled={selectedTools.every((tool) => !tool.enabled)}>
                Turn off
              </Button>
            </>
          )}
          <Button small variant="ghost" onClick={() => setSelectedIds(new Set())}>
            Clear
          </Button>
          {toolsBeingDisabled === null && <ConcurrentChangeNotice guard={guard} unchanged="What you chose is still chosen." />}
        </div>
      )}
      {toolsToDisable !== null && (
        <DisableToolsDialog
          tools={toolsToDisable}
          guard={guard}
          busy={busy}
          onClose={() => setToolsBeingDisabled(null)}
          onConfirm={(note) =>
            void setToolsEnabled({ tools: toolsToDisable, enabled: false }, note).then((done) => {
              if (!done) return;
              setToolsBeingDisabled(null);
              setSelectedIds(new Set());
            })
          }
        />
      )}
    </div>
  );
}
