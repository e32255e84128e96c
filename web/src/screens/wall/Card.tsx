/** What is said of one peg while it is looked at: why it is locked, and the one act that opens it. */
import { useLayoutEffect, useRef, useState, type ReactElement } from "react";
import { useAnswer } from "@/api/answers";
import type { Board, Hints, OnePeg, Peg } from "@/api/types";
import { count, number } from "@/lib/words";
import { ButtonLink, StateMark, Tag } from "@/parts";
import { Unlocking } from "./acting";
import { heldWords, isHeldElsewhere } from "./held";
import { HINTS } from "./hanging";
import { Others } from "./Others";
import { useView } from "./SeenBy";

export const CARD_ID = "peg-card";
const GAP = 6;

export function Card({
  peg,
  presentation,
  anchor,
  version,
  onWiden,
  onEnter,
  onLeave,
  onClose,
}: {
  peg: Peg;
  /** How tools are reached that are open and not listed as themselves. */
  presentation: Board["presentation"];
  anchor: DOMRect;
  version: number;
  onWiden: () => void;
  onEnter: () => void;
  onLeave: () => void;
  onClose: () => void;
}): ReactElement {
  const box = useRef<HTMLDivElement>(null);
  const [open, setOpen] = useState(false);
  const [place, setPlace] = useState({ left: -9999, top: 0 });
  const others = useAnswer<OnePeg>(["board", "policy"], "/board/peg", { tool: peg.id, ...useView().query }, { when: peg.state === "open" }).data?.others;
  useLayoutEffect(() => {
    const card = box.current;
    if (card === null) return;
    const left = Math.max(8, Math.min(anchor.left, window.innerWidth - card.offsetWidth - 8));
    const below = anchor.bottom + GAP;
    const fits = below + card.offsetHeight < window.innerHeight;
    setPlace({ left, top: fits ? below : Math.max(8, anchor.top - GAP - card.offsetHeight) });
  }, [anchor, open, peg, others]);
  const claimed = (Object.keys(HINTS) as (keyof Hints)[]).filter((hint) => peg.hints[hint]);
  return (
    <div
      ref={box}
      id={CARD_ID}
      className={`peg-card is-${peg.state}`}
      role="group"
      aria-label={`About ${peg.name}`}
      style={place}
      onMouseEnter={onEnter}
      onMouseLeave={onLeave}
      onFocus={onEnter}
      onKeyDown={(event) => {
        if (event.key === "Escape") onClose();
      }}
    >
      <header className="row apart">
        <b className={`wrap-any ${peg.title === null ? "mono" : ""}`}>{peg.title ?? peg.name}</b>
        <StateMark state={peg.state} />
      </header>
      <p className="mono quiet small wrap-any">{peg.id}</p>
      {peg.sentence !== null && <p className="wrap-any">{peg.sentence}</p>}
      {peg.more.length > 0 &&
        (open ? (
          <ul className="dotted small quiet">
            {peg.more.map((each) => (
              <li key={each}>{each}</li>
            ))}
          </ul>
        ) : (
          <button type="button" className="button look-bare is-small peg-card-more" onClick={() => setOpen(true)}>
            and {peg.more.length} more
          </button>
        ))}
      {peg.unlisted && presentation !== null && <p className="small wrap-any">{presentation.ofTool}</p>}
      {others !== undefined && <Others tool={peg.id} others={others} most={3} />}
      {isHeldElsewhere(peg) && <p className="quiet small">{heldWords(peg)}</p>}
      {peg.remedy !== null && peg.action.kind === "none" && <p className="quiet small wrap-any">{peg.remedy}</p>}
      <div className="row tight">
        {claimed.map((hint) => (
          <Tag key={hint} title="claimed by its provider">
            claims {HINTS[hint]}
          </Tag>
        ))}
        {peg.overridden && <Tag>overridden</Tag>}
        <span className="quiet small" title="A quick estimate, made for all tools at once; the tool's page counts it">about {count(peg.tokens, "token")}</span>
      </div>
      <footer className="row apart">
        <Unlocking peg={peg} version={version} onWiden={onWiden} />
        <span className="row tight">
          {peg.action.kind !== "none" && peg.state !== "open" && (
            <ButtonLink small look="bare" to="/tool" query={{ id: peg.id, tab: "why" }}>
              Why
            </ButtonLink>
          )}
          <ButtonLink small to="/tool" query={{ id: peg.id }} icon="tool">
            Open the tool
          </ButtonLink>
        </span>
      </footer>
      <span className="unseen">{number(peg.tokens)} tokens</span>
    </div>
  );
}
