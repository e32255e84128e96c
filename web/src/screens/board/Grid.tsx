/** The tool cards in rows, of which only the visible ones are rendered. One card is the tab stop; arrow keys move it. */
import { useWindowVirtualizer } from "@tanstack/react-virtual";
import { memo, useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState, type KeyboardEvent, type MouseEvent, type ReactElement } from "react";
import type { Board, BoardToolset, Health, ToolCard, ToolState } from "@/api/types";
import { navigate } from "@/lib/router";
import { formatCount, formatNumber } from "@/lib/format";
import { Icon, Link, ToolCardButton, StateMark, TOOL_STATES, StateLabel, Tag } from "@/components";
import { ToolCardDetails, TOOL_CARD_DETAILS_ID } from "./ToolCardDetails";
import { sharedToolKey, nextIndex, layoutBoard, type BoardRow } from "./layout";
import { clearNarrowing } from "./ViewAs";

const CARD_ROW_HEIGHT_PX = 48;
const HEADING_HEIGHT_PX = 64;
const FIRST_HEADING_HEIGHT_PX = 56;
const MIN_CARD_WIDTH_PX = 208;
const GAP_PX = 16;

type OpenDetails = { readonly id: string; readonly anchor: DOMRect };

export function Grid({
  board,
  tools,
  isFiltered,
  selected,
  onSelect,
  onToggle,
  onType,
}: {
  board: Board;
  tools: readonly ToolCard[];
  isFiltered: boolean;
  selected: ReadonlySet<string>;
  onSelect: (selected: ReadonlySet<string>) => void;
  onToggle: (tool: ToolCard) => void;
  onType: (character: string) => void;
}): ReactElement {
  const container = useRef<HTMLDivElement>(null);
  const [{ columns, top }, setLayout] = useState({ columns: 4, top: 0 });
  const [tabStop, setTabStop] = useState(0);
  const [details, setDetails] = useState<OpenDetails | null>(null);
  const focusTarget = useRef<number | null>(null);
  const lastSelected = useRef<number | null>(null);
  const detailsTimer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const { rows, orderedTools } = useMemo(() => layoutBoard(board.toolsets, tools, columns, isFiltered), [board.toolsets, tools, columns, isFiltered]);
  const byId = useMemo(() => new Map(orderedTools.map((tool) => [tool.id, tool])), [orderedTools]);

  useLayoutEffect(() => {
    const element = container.current;
    if (element === null) return;
    const measure = (): void => {
      const { width, top: viewportTop } = element.getBoundingClientRect();
      const next = { columns: Math.max(1, Math.floor((width - GAP_PX) / (MIN_CARD_WIDTH_PX + GAP_PX))), top: Math.round(viewportTop + window.scrollY) };
      setLayout((previous) => (previous.columns === next.columns && previous.top === next.top ? previous : next));
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    observer.observe(document.body);
    return () => observer.disconnect();
  }, []);

  const list = useWindowVirtualizer({
    count: rows.length,
    estimateSize: (index) => {
      const row = rows[index];
      return row?.kind === "heading" ? (row.first ? FIRST_HEADING_HEIGHT_PX : HEADING_HEIGHT_PX) : CARD_ROW_HEIGHT_PX;
    },
    getItemKey: (index) => {
      const row = rows[index];
      return row === undefined ? index : row.kind === "heading" ? `heading ${row.toolset.id}` : row.id;
    },
    overscan: 4,
    scrollMargin: top,
  });
  useLayoutEffect(() => list.measure(), [list, rows]);

  // The card to focus may not be rendered yet: it gets the focus once its row is.
  useEffect(() => {
    if (focusTarget.current === null) return;
    const tool = orderedTools[focusTarget.current];
    const hit = tool && container.current?.querySelector<HTMLElement>(`[data-tool="${CSS.escape(tool.id)}"]`);
    if (hit) {
      focusTarget.current = null;
      hit.focus({ preventScroll: true });
    }
  });
  useEffect(() => () => clearTimeout(detailsTimer.current), []);
  useEffect(() => {
    const handleScroll = (): void => {
      if (!container.current?.contains(document.activeElement) && !document.getElementById(TOOL_CARD_DETAILS_ID)?.contains(document.activeElement)) setDetails(null);
      else setDetails((current) => (current === null ? current : detailsFor(container.current, current.id)));
    };
    addEventListener("scroll", handleScroll, { passive: true });
    return () => removeEventListener("scroll", handleScroll);
  }, []);

  const toolAt = (target: EventTarget): { readonly tool: ToolCard; readonly element: HTMLElement } | null => {
    const element = (target as Element).closest<HTMLElement>("[data-tool]");
    const tool = element === null ? undefined : byId.get(element.dataset["tool"] ?? "");
    return element === null || tool === undefined ? null : { tool, element };
  };
  const openDetails = useCallback((id: string, anchor: DOMRect, delayMs: number) => {
    clearTimeout(detailsTimer.current);
    detailsTimer.current = setTimeout(() => setDetails({ id, anchor }), delayMs);
  }, []);
  const closeDetails = useCallback((delayMs: number) => {
    clearTimeout(detailsTimer.current);
    detailsTimer.current = setTimeout(() => setDetails(null), delayMs);
  }, []);

  const handleClick = (event: MouseEvent): void => {
    const hit = toolAt(event.target);
    if (hit === null) return;
    const index = orderedTools.indexOf(hit.tool);
    setTabStop(index);
    if (event.shiftKey && lastSelected.current !== null && selected.size > 0) {
      const [first, last] = [Math.min(lastSelected.current, index), Math.max(lastSelected.current, index)];
      onSelect(new Set([...selected, ...orderedTools.slice(first, last + 1).map(({ id }) => id)]));
    } else if (event.shiftKey || event.ctrlKey || event.metaKey) {
      onSelect(toggle(selected, hit.tool.id));
      lastSelected.current = index;
    } else {
      openDetails(hit.tool.id, hit.element.getBoundingClientRect(), 0);
    }
  };
  const handleKey = (event: KeyboardEvent): void => {
    const hit = toolAt(event.target);
    if (hit === null || event.ctrlKey || event.metaKey || event.altKey) return;
    const index = orderedTools.indexOf(hit.tool);
    if (event.key === " ") {
      if (event.shiftKey) onSelect(toggle(selected, hit.tool.id));
      else onToggle(hit.tool);
    } else if (event.key === "Enter") {
      navigate("/tool", { id: hit.tool.id });
    } else if (event.key === "Escape") {
      if (details !== null) setDetails(null);
      else if (selected.size > 0) onSelect(new Set());
      else return;
    } else if (event.key.length === 1) {
      onType(event.key);
    } else {
      const to = nextIndex(rows, index, event.key);
      if (to === index) return;
      focusTarget.current = to;
      setTabStop(to);
      const rowIndex = rows.findIndex((each) => each.kind === "cards" && to >= each.firstIndex && to < each.firstIndex + each.tools.length);
      list.scrollToIndex(rowIndex, { align: "auto" });
    }
    event.preventDefault();
  };

  const detailsTool = details === null ? undefined : byId.get(details.id);
  const highlightedKey = detailsTool === undefined ? null : sharedToolKey(detailsTool);
  const tabStopId = orderedTools[Math.min(tabStop, orderedTools.length - 1)]?.id;
  return (
    <>
      {/* Event delegation: the cards inside are buttons, and one handler here serves thousands of them. */}
      <div
        ref={container}
        className={`pegboard board-grid ${orderedTools.length === 0 ? "is-bare" : ""}`}
        role="group"
        aria-label="Tools by toolset"
        onClick={handleClick}
        onKeyDown={handleKey}
        onMouseOver={(event) => {
          const hit = toolAt(event.target);
          if (hit !== null && hit.tool.id !== details?.id) openDetails(hit.tool.id, hit.element.getBoundingClientRect(), 120);
        }}
        onMouseOut={(event) => {
          if (toolAt(event.target) !== null) closeDetails(220);
        }}
        onFocus={(event) => {
          const hit = toolAt(event.target);
          if (hit === null) return;
          setTabStop(orderedTools.indexOf(hit.tool));
          if (hit.element.matches(":focus-visible")) openDetails(hit.tool.id, hit.element.getBoundingClientRect(), 0);
        }}
        onBlur={() => closeDetails(150)}
        style={{ height: list.getTotalSize() + GAP_PX / 2 }}
      >
        {list.getVirtualItems().map((item) => {
          const row = rows[item.index];
          return row === undefined ? null : (
            <div key={item.key} className="virtual-row" style={{ height: item.size, transform: `translateY(${item.start - top}px)` }}>
              {row.kind === "heading" ? (
                <ToolsetHeading toolset={row.toolset} shownCount={row.shownCount} isFiltered={isFiltered} first={row.first} />
              ) : (
                <CardRow row={row} columns={columns} selected={selected} highlightedKey={highlightedKey} detailsId={detailsTool?.id ?? null} tabStopId={tabStopId ?? null} />
              )}
            </div>
          );
        })}
      </div>
      {detailsTool !== undefined && details !== null && (
        <ToolCardDetails
          key={detailsTool.id}
          tool={detailsTool}
          presentation={board.presentation}
          anchor={details.anchor}
          version={board.policyVersion}
          onWiden={clearNarrowing}
          onEnter={() => clearTimeout(detailsTimer.current)}
          onLeave={() => closeDetails(220)}
          onClose={() => {
            setDetails(null);
            container.current?.querySelector<HTMLElement>(`[data-tool="${CSS.escape(detailsTool.id)}"]`)?.focus();
          }}
        />
      )}
    </>
  );
}

function detailsFor(container: HTMLElement | null, id: string): OpenDetails | null {
  const element = container?.querySelector<HTMLElement>(`[data-tool="${CSS.escape(id)}"]`);
  return element ? { id, anchor: element.getBoundingClientRect() } : null;
}

function toggle(selected: ReadonlySet<string>, id: string): ReadonlySet<string> {
  const next = new Set(selected);
  if (!next.delete(id)) next.add(id);
  return next;
}

function CardRow({
  row,
  columns,
  selected,
  highlightedKey,
  detailsId,
  tabStopId,
}: {
  row: Extract<BoardRow, { kind: "cards" }>;
  columns: number;
  selected: ReadonlySet<string>;
  highlightedKey: string | null;
  detailsId: string | null;
  tabStopId: string | null;
}): ReactElement {
  return (
    <div className="board-row" style={{ gridTemplateColumns: `repeat(${columns}, minmax(0, 1fr))` }}>
      {row.tools.map((tool) => (
        <ToolCardButton
          key={tool.id}
          tool={tool}
          selected={selected.has(tool.id)}
          highlighted={highlightedKey !== null && tool.id !== detailsId && sharedToolKey(tool) === highlightedKey}
          tabIndex={tool.id === tabStopId ? 0 : -1}
          {...(tool.id === detailsId ? { describedBy: TOOL_CARD_DETAILS_ID } : {})}
        />
      ))}
    </div>
  );
}

const ToolsetHeading = memo(function ToolsetHeading({ toolset, shownCount, isFiltered, first }: { toolset: BoardToolset; shownCount: number; isFiltered: boolean; first: boolean }): ReactElement {
  const total = TOOL_STATES.reduce((sum, state) => sum + toolset.counts[state], 0);
  const builtin = toolset.id === "builtin";
  return (
    <div className={`board-heading ${first ? "is-first" : ""}`}>
      <h2 className="board-toolset">
        <Icon name={builtin ? "builtin" : toolset.userMcp ? "plug" : "toolsets"} />
        {builtin ? (
          <span className="truncate">{toolset.title}</span>
        ) : (
          <Link to={toolset.userMcp ? "/servers" : "/toolsets"} query={{ id: toolset.id }} className="truncate">
            {toolset.title}
          </Link>
        )}
        {!toolset.enabled || toolset.health.state === "off" ? <Tag tone="locked">off</Tag> : <ToolsetHealth health={toolset.health} />}
        <span className="board-counts">
          {isFiltered && <span className="muted">{formatNumber(shownCount)} of {formatNumber(total)}</span>}
          {!isFiltered && total === 0 && <span className="muted">no tools</span>}
          {!isFiltered &&
            TOOL_STATES.filter((state) => toolset.counts[state] > 0).map((state) => (
              <span key={state} className={`board-state-count is-${state}`}>
                <StateMark state={state} label="screen-reader" /> {formatNumber(toolset.counts[state])}
              </span>
            ))}
          <span className="muted board-tokens">{toolset.counts.tokens > 0 && formatCount(toolset.counts.tokens, "token")}</span>
        </span>
      </h2>
    </div>
  );
});

const HEALTH_STATES_SHOWN: Readonly<Partial<Record<Health["state"], ToolState>>> = { down: "broken", needs_sign_in: "needs_action", starting: "locked", asleep: "locked" };

/** A healthy server needs no label. */
function ToolsetHealth({ health }: { health: Health }): ReactElement | null {
  const state = HEALTH_STATES_SHOWN[health.state];
  return state === undefined ? null : (
    <span className="small board-health truncate">
      <StateLabel state={state}>{health.message}</StateLabel>
    </span>
  );
}
