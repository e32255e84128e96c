/** The popover of a tool card: why the tool is locked, and the one action that unlocks it. */
import { useLayoutEffect, useRef, useState, type ReactElement } from "react";
import { useApiQuery } from "@/api/queries";
import type { Board, ToolHints, ToolCardResponse, ToolCard } from "@/api/types";
import { formatCount, formatNumber } from "@/lib/format";
import { ButtonLink, StateMark, Tag } from "@/components";
import { SuggestedActionButton } from "./SuggestedActionButton";
import { lockReason, isLockedDespiteSwitch } from "./lock-reason";
import { HINT_LABELS } from "./layout";
import { OtherCallers } from "./OtherCallers";
import { useCallerView } from "./ViewAs";

export const TOOL_CARD_DETAILS_ID = "tool-card-details";
const GAP_PX = 6;

export function ToolCardDetails({
  tool,
  presentation,
  anchor,
  version,
  onWiden,
  onEnter,
  onLeave,
  onClose,
}: {
  tool: ToolCard;
  /** How clients reach tools that are open but not listed. */
  presentation: Board["presentation"];
  anchor: DOMRect;
  version: number;
  onWiden: () => void;
  onEnter: () => void;
  onLeave: () => void;
  onClose: () => void;
}): ReactElement {
  const container = useRef<HTMLDivElement>(null);
  const [showMore, setShowMore] = useState(false);
  const [position, setPosition] = useState({ left: -9999, top: 0 });
  const otherCallers = useApiQuery<ToolCardResponse>(["board", "policy"], "/board/tool", { tool: tool.id, ...useCallerView().query }, { enabled: tool.state === "open" }).data?.otherCallers;
  useLayoutEffect(() => {
    const card = container.current;
    if (card === null) return;
    const x = Math.max(8, Math.min(anchor.left, window.innerWidth - card.offsetWidth - 8));
    const belowTop = anchor.bottom + GAP_PX;
    const fits = belowTop + card.offsetHeight < window.innerHeight;
    setPosition({ left: x, top: fits ? belowTop : Math.max(8, anchor.top - GAP_PX - card.offsetHeight) });
  }, [anchor, showMore, tool, otherCallers]);
  const claimedHints = (Object.keys(HINT_LABELS) as (keyof ToolHints)[]).filter((hint) => tool.hints[hint]);
  return (
    <div
      ref={container}
      id={TOOL_CARD_DETAILS_ID}
      className={`tool-card-details is-${tool.state}`}
      role="group"
      aria-label={`About ${tool.name}`}
      style={position}
      onMouseEnter={onEnter}
      onMouseLeave={onLeave}
      onFocus={onEnter}
      onKeyDown={(event) => {
        if (event.key === "Escape") onClose();
      }}
    >
      <header className="row apart">
        <b className={`wrap-any ${tool.title === null ? "mono" : ""}`}>{tool.title ?? tool.name}</b>
        <StateMark state={tool.state} />
      </header>
      <p className="mono muted small wrap-any">{tool.id}</p>
      {tool.message !== null && <p className="wrap-any">{tool.message}</p>}
      {tool.otherReasons.length > 0 &&
        (showMore ? (
          <ul className="dotted small muted">
            {tool.otherReasons.map((each) => (
              <li key={each}>{each}</li>
            ))}
          </ul>
        ) : (
          <button type="button" className="button variant-ghost is-small tool-card-details-more" onClick={() => setShowMore(true)}>
            and {tool.otherReasons.length} more
          </button>
        ))}
      {tool.unlisted && presentation !== null && <p className="small wrap-any">{presentation.unlistedToolMessage}</p>}
      {otherCallers !== undefined && <OtherCallers tool={tool.id} callers={otherCallers} max={3} />}
      {isLockedDespiteSwitch(tool) && <p className="muted small">{lockReason(tool)}</p>}
      {tool.remedy !== null && tool.action.kind === "none" && <p className="muted small wrap-any">{tool.remedy}</p>}
      <div className="row tight">
        {claimedHints.map((hint) => (
          <Tag key={hint} title="claimed by its provider">
            claims {HINT_LABELS[hint]}
          </Tag>
        ))}
        {tool.overridden && <Tag>overridden</Tag>}
        <span className="muted small" title="A quick estimate, made for all tools at once; the tool's page counts it">about {formatCount(tool.tokens, "token")}</span>
      </div>
      <footer className="row apart">
        <SuggestedActionButton subject={tool} version={version} onWiden={onWiden} />
        <span className="row tight">
          {tool.action.kind !== "none" && tool.state !== "open" && (
            <ButtonLink small variant="ghost" to="/tool" query={{ id: tool.id, tab: "why" }}>
              Why
            </ButtonLink>
          )}
          <ButtonLink small to="/tool" query={{ id: tool.id }} icon="tool">
            Open the tool
          </ButtonLink>
        </span>
      </footer>
      <span className="visually-hidden">{formatNumber(tool.tokens)} tokens</span>
    </div>
  );
}
