/** The pegs themselves, in lines of which only those that are seen exist. One peg is the stop for Tab; arrows go on. */
import { useWindowVirtualizer } from "@tanstack/react-virtual";
import { memo, useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState, type KeyboardEvent, type MouseEvent, type ReactElement } from "react";
import type { Board, BoardToolset, Health, Peg as Told, PegState } from "@/api/types";
import { go } from "@/lib/place";
import { count, number } from "@/lib/words";
import { Icon, Link, Peg, StateMark, STATES, StateWords, Tag } from "@/parts";
import { Card, CARD_ID } from "./Card";
import { likeness, moved, wallLines, type Line } from "./hanging";
import { widen } from "./SeenBy";

const LINE = 48;
const HEAD = 64;
const FIRST = 56;
const NARROWEST = 208;
const GAP = 16;

type Looked = { readonly id: string; readonly anchor: DOMRect };

export function Hanging({
  board,
  shown,
  filtered,
  chosen,
  onChoose,
  onThrow,
  onType,
}: {
  board: Board;
  shown: readonly Told[];
  filtered: boolean;
  chosen: ReadonlySet<string>;
  onChoose: (chosen: ReadonlySet<string>) => void;
  onThrow: (peg: Told) => void;
  onType: (letter: string) => void;
}): ReactElement {
  const box = useRef<HTMLDivElement>(null);
  const [{ columns, top }, measure] = useState({ columns: 4, top: 0 });
  const [stop, setStop] = useState(0);
  const [looked, look] = useState<Looked | null>(null);
  const wanted = useRef<number | null>(null);
  const last = useRef<number | null>(null);
  const later = useRef<ReturnType<typeof setTimeout>>(undefined);
  const { lines, placed } = useMemo(() => wallLines(board.toolsets, shown, columns, filtered), [board.toolsets, shown, columns, filtered]);
  const byId = useMemo(() => new Map(placed.map((peg) => [peg.id, peg])), [placed]);

  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return;
    const measured = (): void => {
      const { width, top: above } = element.getBoundingClientRect();
      const next = { columns: Math.max(1, Math.floor((width - GAP) / (NARROWEST + GAP))), top: Math.round(above + window.scrollY) };
      measure((before) => (before.columns === next.columns && before.top === next.top ? before : next));
    };
    measured();
    const watching = new ResizeObserver(measured);
    watching.observe(element);
    watching.observe(document.body);
    return () => watching.disconnect();
  }, []);

  const list = useWindowVirtualizer({
    count: lines.length,
    estimateSize: (at) => {
      const line = lines[at];
      return line?.kind === "head" ? (line.first ? FIRST : HEAD) : LINE;
    },
    getItemKey: (at) => {
      const line = lines[at];
      return line === undefined ? at : line.kind === "head" ? `head ${line.toolset.id}` : line.id;
    },
    overscan: 4,
    scrollMargin: top,
  });
  useLayoutEffect(() => list.measure(), [list, lines]);

  // A peg that the keyboard went to may not exist yet: it is focused once its line does.
  useEffect(() => {
    if (wanted.current === null) return;
    const peg = placed[wanted.current];
    const found = peg && box.current?.querySelector<HTMLElement>(`[data-tool="${CSS.escape(peg.id)}"]`);
    if (found) {
      wanted.current = null;
      found.focus({ preventScroll: true });
    }
  });
  useEffect(() => () => clearTimeout(later.current), []);
  useEffect(() => {
    const away = (): void => {
      if (!box.current?.contains(document.activeElement) && !document.getElementById(CARD_ID)?.contains(document.activeElement)) look(null);
      else look((now) => (now === null ? now : anchored(box.current, now.id)));
    };
    addEventListener("scroll", away, { passive: true });
    return () => removeEventListener("scroll", away);
  }, []);

  const pegOf = (target: EventTarget): { readonly peg: Told; readonly element: HTMLElement } | null => {
    const element = (target as Element).closest<HTMLElement>("[data-tool]");
    const peg = element === null ? undefined : byId.get(element.dataset["tool"] ?? "");
    return element === null || peg === undefined ? null : { peg, element };
  };
  const lookAt = useCallback((id: string, anchor: DOMRect, after: number) => {
    clearTimeout(later.current);
    later.current = setTimeout(() => look({ id, anchor }), after);
  }, []);
  const lookAway = useCallback((after: number) => {
    clearTimeout(later.current);
    later.current = setTimeout(() => look(null), after);
  }, []);

  const clicked = (event: MouseEvent): void => {
    const found = pegOf(event.target);
    if (found === null) return;
    const at = placed.indexOf(found.peg);
    setStop(at);
    if (event.shiftKey && last.current !== null && chosen.size > 0) {
      const [from, to] = [Math.min(last.current, at), Math.max(last.current, at)];
      onChoose(new Set([...chosen, ...placed.slice(from, to + 1).map(({ id }) => id)]));
    } else if (event.shiftKey || event.ctrlKey || event.metaKey) {
      onChoose(toggled(chosen, found.peg.id));
      last.current = at;
    } else {
      lookAt(found.peg.id, found.element.getBoundingClientRect(), 0);
    }
  };
  const pressed = (event: KeyboardEvent): void => {
    const found = pegOf(event.target);
    if (found === null || event.ctrlKey || event.metaKey || event.altKey) return;
    const at = placed.indexOf(found.peg);
    if (event.key === " ") {
      if (event.shiftKey) onChoose(toggled(chosen, found.peg.id));
      else onThrow(found.peg);
    } else if (event.key === "Enter") {
      go("/tool", { id: found.peg.id });
    } else if (event.key === "Escape") {
      if (looked !== null) look(null);
      else if (chosen.size > 0) onChoose(new Set());
      else return;
    } else if (event.key.length === 1) {
      onType(event.key);
    } else {
      const to = moved(lines, at, event.key);
      if (to === at) return;
      wanted.current = to;
      setStop(to);
      const line = lines.findIndex((each) => each.kind === "pegs" && to >= each.from && to < each.from + each.pegs.length);
      list.scrollToIndex(line, { align: "auto" });
    }
    event.preventDefault();
  };

  const seen = looked === null ? undefined : byId.get(looked.id);
  const lit = seen === undefined ? null : likeness(seen);
  const tabbed = placed[Math.min(stop, placed.length - 1)]?.id;
  return (
    <>
      {/* The pegs inside are buttons of their own; what bubbles up from them is taken here, once for thousands. */}
      <div
        ref={box}
        className={`board wall-pegs ${placed.length === 0 ? "is-bare" : ""}`}
        role="group"
        aria-label="Tools by toolset"
        onClick={clicked}
        onKeyDown={pressed}
        onMouseOver={(event) => {
          const found = pegOf(event.target);
          if (found !== null && found.peg.id !== looked?.id) lookAt(found.peg.id, found.element.getBoundingClientRect(), 120);
        }}
        onMouseOut={(event) => {
          if (pegOf(event.target) !== null) lookAway(220);
        }}
        onFocus={(event) => {
          const found = pegOf(event.target);
          if (found === null) return;
          setStop(placed.indexOf(found.peg));
          if (found.element.matches(":focus-visible")) lookAt(found.peg.id, found.element.getBoundingClientRect(), 0);
        }}
        onBlur={() => lookAway(150)}
        style={{ height: list.getTotalSize() + GAP / 2 }}
      >
        {list.getVirtualItems().map((item) => {
          const line = lines[item.index];
          return line === undefined ? null : (
            <div key={item.key} className="virtual-row" style={{ height: item.size, transform: `translateY(${item.start - top}px)` }}>
              {line.kind === "head" ? (
                <Head toolset={line.toolset} shown={line.shown} filtered={filtered} first={line.first} />
              ) : (
                <Pegs line={line} columns={columns} chosen={chosen} lit={lit} seen={seen?.id ?? null} stop={tabbed ?? null} />
              )}
            </div>
          );
        })}
      </div>
      {seen !== undefined && looked !== null && (
        <Card
          key={seen.id}
          peg={seen}
          presentation={board.presentation}
          anchor={looked.anchor}
          version={board.policyVersion}
          onWiden={widen}
          onEnter={() => clearTimeout(later.current)}
          onLeave={() => lookAway(220)}
          onClose={() => {
            look(null);
            box.current?.querySelector<HTMLElement>(`[data-tool="${CSS.escape(seen.id)}"]`)?.focus();
          }}
        />
      )}
    </>
  );
}

function anchored(box: HTMLElement | null, id: string): Looked | null {
  const element = box?.querySelector<HTMLElement>(`[data-tool="${CSS.escape(id)}"]`);
  return element ? { id, anchor: element.getBoundingClientRect() } : null;
}

function toggled(chosen: ReadonlySet<string>, id: string): ReadonlySet<string> {
  const next = new Set(chosen);
  if (!next.delete(id)) next.add(id);
  return next;
}

function Pegs({
  line,
  columns,
  chosen,
  lit,
  seen,
  stop,
}: {
  line: Extract<Line, { kind: "pegs" }>;
  columns: number;
  chosen: ReadonlySet<string>;
  lit: string | null;
  seen: string | null;
  stop: string | null;
}): ReactElement {
  return (
    <div className="wall-line" style={{ gridTemplateColumns: `repeat(${columns}, minmax(0, 1fr))` }}>
      {line.pegs.map((peg) => (
        <Peg
          key={peg.id}
          peg={peg}
          chosen={chosen.has(peg.id)}
          lit={lit !== null && peg.id !== seen && likeness(peg) === lit}
          tabIndex={peg.id === stop ? 0 : -1}
          {...(peg.id === seen ? { describedBy: CARD_ID } : {})}
        />
      ))}
    </div>
  );
}

const Head = memo(function Head({ toolset, shown, filtered, first }: { toolset: BoardToolset; shown: number; filtered: boolean; first: boolean }): ReactElement {
  const all = STATES.reduce((sum, state) => sum + toolset.counts[state], 0);
  const builtin = toolset.id === "builtin";
  return (
    <div className={`wall-head ${first ? "is-first" : ""}`}>
      <h2 className="wall-label">
        <Icon name={builtin ? "builtin" : toolset.userMcp ? "plug" : "toolsets"} />
        {builtin ? (
          <span className="cut">{toolset.title}</span>
        ) : (
          <Link to={toolset.userMcp ? "/servers" : "/toolsets"} query={{ id: toolset.id }} className="cut">
            {toolset.title}
          </Link>
        )}
        {!toolset.on || toolset.health.state === "off" ? <Tag tone="locked">off</Tag> : <Condition health={toolset.health} />}
        <span className="wall-counts">
          {filtered && <span className="quiet">{number(shown)} of {number(all)}</span>}
          {!filtered && all === 0 && <span className="quiet">no tools</span>}
          {!filtered &&
            STATES.filter((state) => toolset.counts[state] > 0).map((state) => (
              <span key={state} className={`wall-tally is-${state}`}>
                <StateMark state={state} word="unseen" /> {number(toolset.counts[state])}
              </span>
            ))}
          <span className="quiet wall-tokens">{toolset.counts.tokens > 0 && count(toolset.counts.tokens, "token")}</span>
        </span>
      </h2>
    </div>
  );
});

const CONDITIONS: Readonly<Partial<Record<Health["state"], PegState>>> = { down: "broken", needs_sign_in: "wants", starting: "locked", asleep: "locked" };

/** Nothing is said of what is up. */
function Condition({ health }: { health: Health }): ReactElement | null {
  const state = CONDITIONS[health.state];
  return state === undefined ? null : (
    <span className="small wall-health cut">
      <StateWords state={state}>{health.sentence}</StateWords>
    </span>
  );
}
