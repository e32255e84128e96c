/** One tool: what a model sees of it, why it is open or locked, other words for it, a trial, and its history. */
import { useMemo, useState, type ReactElement } from "react";
import { useAnswer, useWhole } from "@/api/answers";
import { useMay } from "@/api/session";
import { useStand } from "@/api/standing";
import type { Board, OnePeg, Peg } from "@/api/types";
import { indexed, matching } from "@/lib/finding";
import { useParam } from "@/lib/place";
import { command, count } from "@/lib/words";
import { PermissionLines } from "@/screens/approvals/Permissions";
import { Unlocking } from "@/screens/wall/acting";
import { heldWords, isHeldElsewhere } from "@/screens/wall/held";
import { Others } from "@/screens/wall/Others";
import { SeenBy, useView, widen } from "@/screens/wall/SeenBy";
import { seenOf, TurningOff, useThrowing } from "@/screens/wall/throwing";
import { Answered, EmptyState, Link, Screen, SearchField, Skeleton, StateMark, Switch, Tabs, VirtualList } from "@/parts";
import { Face } from "./Face";
import { History } from "./History";
import type { Draft } from "./meeting";
import { meant, NotOne } from "./NotOne";
import { Override } from "./Override";
import type { Shown, Why as Told } from "./told";
import { Try } from "./Try";
import { Why } from "./Why";
import "./tool.css";

export default function ToolScreen(): ReactElement {
  const [id] = useParam("id");
  return id === "" ? <Choosing /> : <OneTool key={id} id={id} />;
}

const TABS = [
  { id: "why", label: "Why" },
  { id: "override", label: "Override" },
  { id: "try", label: "Try it" },
  { id: "history", label: "History" },
] as const;
type TabId = (typeof TABS)[number]["id"];
const COMMANDS = { why: ["why"], override: ["overrides", "show"], try: ["tools", "call"] } as const;

function OneTool({ id }: { id: string }): ReactElement {
  const view = useView();
  const [chosen, choose] = useParam("tab", "why");
  const tab: TabId = TABS.some((each) => each.id === chosen) ? (chosen as TabId) : "why";
  // Kept here, so that a look at another tab loses nothing of it.
  const [draft, setDraft] = useState<Draft | null>(null);
  const query = { tool: id, ...view.query };
  const peg = useAnswer<OnePeg>(["board", "policy"], "/board/peg", query);
  const shown = useAnswer<Shown>(["board", "policy"], "/tools/show", query);
  const why = useAnswer<Told>(["board", "policy"], "/why", query);
  const tools = peg.data === undefined ? meant(peg.error) : null;
  if (peg.error !== null && tools !== null) {
    return (
      <Screen title={id} json={{ path: "/board/peg", query }} command={command("pegboard", "why", id, ...view.words)}>
        <NotOne id={id} error={peg.error} tools={tools} />
      </Screen>
    );
  }
  return (
    <Screen
      title={peg.data?.peg.title ?? peg.data?.peg.name ?? id}
      lead={<Answered of={peg} waiting={<Skeleton lines={2} />}>{(answer) => <Verdict answer={answer} />}</Answered>}
      actions={<SeenBy view={view} toolsets={[]} />}
      json={tab === "history" ? { path: "/tools/history", query } : { path: tab === "why" ? "/why" : "/tools/show", query }}
      command={tab === "history" ? command("pegboard", "activity", "list", "--tool", id) : command("pegboard", ...COMMANDS[tab], id, ...view.words)}
    >
      {peg.data?.peg.verdict === "gone" ? (
        <Gone peg={peg.data.peg} />
      ) : (
        <div className="split lead">
          <Answered of={shown} waiting={<Skeleton lines={14} height={24} />}>
            {(answer) => (peg.data === undefined ? <Skeleton lines={14} height={24} /> : <Face peg={peg.data.peg} shown={answer} />)}
          </Answered>
          <section className="sheet tool-tabs" aria-label="About the tool">
            <Tabs name="About the tool" tabs={TABS} chosen={tab} onChange={choose}>
              {tab === "why" && <Why id={id} view={view.query} />}
              {tab === "override" && peg.data && shown.data && <Override peg={peg.data.peg} shown={shown.data} draft={draft} onDraft={setDraft} />}
              {tab === "try" && peg.data && shown.data && (
                <Try
                  peg={peg.data.peg}
                  shown={shown.data}
                  said={why.data?.overrides ?? []}
                  principal={view.principal}
                  view={view.query}
                />
              )}
              {tab === "history" && <History id={id} view={view.query} />}
            </Tabs>
          </section>
        </div>
      )}
    </Screen>
  );
}

/** The state, the one sentence, the one remedy; and the switch. */
function Verdict({ answer: { peg, presentation, others, policyVersion } }: { answer: OnePeg }): ReactElement {
  const operates = useMay("operate");
  const [turningOff, setTurningOff] = useState(false);
  const stand = useStand(policyVersion, turningOff, seenOf(peg));
  const { throwAll, busy } = useThrowing(stand);
  return (
    <div className="tool-verdict">
      <div className="row">
        <StateMark state={peg.state} />
        {peg.status !== null && <code className="quiet">{peg.status}</code>}
        {operates && peg.verdict !== "gone" && (
          <Switch
            label={isHeldElsewhere(peg) ? heldWords(peg) : peg.switchOn ? "Switched on" : "Switched off"}
            on={peg.switchOn}
            disabled={busy}
            onChange={(on) => (on ? void throwAll({ pegs: [peg], on }) : setTurningOff(true))}
          />
        )}
      </div>
      {peg.sentence !== null && <p className="wrap-any">{peg.sentence}</p>}
      {peg.unlisted && presentation !== null && <p className="wrap-any">{presentation.ofTool}</p>}
      <Others tool={peg.id} others={others} />
      {peg.more.map((each) => (
        <p key={each} className="quiet small wrap-any">
          {each}
        </p>
      ))}
      <div className="row">
        {peg.remedy !== null && <span className="quiet wrap-any">{peg.remedy}</span>}
        <Unlocking peg={peg} version={policyVersion} onWiden={widen} />
      </div>
      <PermissionLines tool={peg.id} />
      {turningOff && (
        <TurningOff
          pegs={[peg]}
          stand={stand}
          busy={busy}
          onClose={() => setTurningOff(false)}
          onDone={(note) => void throwAll({ pegs: [peg], on: false }, note).then((done) => done && setTurningOff(false))}
        />
      )}
    </div>
  );
}

function Gone({ peg }: { peg: Peg }): ReactElement {
  return (
    <div className="sheet">
      <EmptyState icon="tool" title="Its provider does not offer it any more">
        What people decided about <code>{peg.id}</code> is kept, and holds again when it comes back.
      </EmptyState>
      <History id={peg.id} view={{}} />
    </div>
  );
}

const TALL = 36;

/** Without an id: choose one. */
function Choosing(): ReactElement {
  const [typed, setTyped] = useParam("q");
  const board = useWhole<Board>(["board"], "/board", {}, (before, next) => ({ ...next, pegs: [...before.pegs, ...next.pegs] }));
  const index = useMemo(() => indexed(board.data?.pegs ?? [], (tool) => `${tool.name} ${tool.id}`), [board.data]);
  const fitting = useMemo(() => matching(index, typed), [index, typed]);
  return (
    <Screen title="Tool" lead="Every tool with its reason: choose one." json={{ path: "/board" }} command={command("pegboard", "tools", "list")}>
      <div className="stack">
        <SearchField label="Find a tool" value={typed} onChange={setTyped} placeholder="Name or id" />
        <Answered of={board} waiting={<Skeleton lines={10} height={32} />}>
          {(answer) =>
            fitting.length === 0 ? (
              <EmptyState icon="search" title={answer.pegs.length === 0 ? "No tools yet" : "No tool has these words"}>
                {answer.pegs.length === 0 ? "Add a server, and its tools are here." : `There are ${count(answer.pegs.length, "tool")} in all.`}
              </EmptyState>
            ) : (
              <VirtualList name="Tools" rows={fitting} rowKey={(tool) => tool.id} height={() => TALL} boxHeight={`min(70vh, ${fitting.length * TALL + 2}px)`}>
                {(tool) => (
                  <Link to="/tool" query={{ id: tool.id }} className="tool-line">
                    <StateMark state={tool.state} word="unseen" />
                    <b className="mono cut">{tool.name}</b>
                    <span className="quiet mono small cut">{tool.id}</span>
                  </Link>
                )}
              </VirtualList>
            )
          }
        </Answered>
      </div>
    </Screen>
  );
}
