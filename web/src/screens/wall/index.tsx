/** The wall: rows are toolsets, pegs are tools, and every tool that is locked says why. */
import { useMemo, useRef, useState, type ReactElement } from "react";
import { useWhole } from "@/api/answers";
import { useMay } from "@/api/session";
import { useStand } from "@/api/standing";
import type { Board, Hints, Peg } from "@/api/types";
import { amend, useListParam, useParam } from "@/lib/place";
import { count, number } from "@/lib/words";
import { Answered, Button, ButtonLink, Chips, EmptyState, Icon, Meanwhile, providerIcon, Screen, SearchField, Select, Skeleton, StateMark, STATES, toast } from "@/parts";
import { FirstRun, NextSteps } from "./FirstRun";
import { filterWords, HINTS, serversOf, shownPegs, totalsWords, wallIndex, type Filters } from "./hanging";
import { Hanging } from "./Hanging";
import { heldWords, isHeldElsewhere } from "./held";
import { InVain } from "./InVain";
import { SeenBy, useView, viewCommand, type View } from "./SeenBy";
import { seenOf, TurningOff, useThrowing } from "./throwing";
import "./wall.css";

const FILTERS = ["q", "state", "provider", "server", "hint"];
/** So many servers are chips; more of them are a list to choose from. */
const MOST_CHIPS = 12;

function useFilters(): Filters {
  const [typed] = useParam("q");
  const [states] = useListParam("state");
  const [providers] = useListParam("provider");
  const [servers] = useListParam("server");
  const [hints] = useListParam("hint");
  return { typed, states, providers, servers, hints };
}

function join(before: Board, next: Board): Board {
  // All of it was so at the version of the first part at least.
  return { ...next, policyVersion: before.policyVersion, pegs: [...before.pegs, ...next.pegs] };
}

export default function WallScreen(): ReactElement {
  const view = useView();
  const board = useWhole<Board>(["board", "servers", "toolsets", "approvals", "policy"], "/board", view.query, join);
  const told = board.data;
  const filters = useFilters();
  return (
    <Screen
      title="Wall"
      lead={told === undefined ? "…" : <Lead board={told} />}
      actions={<SeenBy view={view} toolsets={told?.toolsets ?? []} />}
      json={{ path: "/board", query: view.query }}
      command={viewCommand(view, filterWords(filters))}
    >
      <Answered of={board} waiting={<Waiting />}>
        {(answer) => <Wall board={answer} view={view} />}
      </Answered>
    </Screen>
  );
}

/** What the wall sums up to; and, where clients are not shown all of it, what they are shown instead. */
function Lead({ board }: { board: Board }): ReactElement {
  return (
    <>
      {totalsWords(board.totals, number)}
      {board.presentation !== null && <p className="small wrap-any">{board.presentation.sentence}</p>}
    </>
  );
}

/** As high as the toolbar and a wall, so that nothing jumps when they come. */
function Waiting(): ReactElement {
  return (
    <>
      <div className="wall-bar">
        <Skeleton lines={1} height={32} />
      </div>
      <div className="board wall-waiting" />
    </>
  );
}

/** Nothing but what the gateway brings itself. */
function isBare(board: Board): boolean {
  return board.toolsets.every((toolset) => toolset.id === "builtin") && board.pegs.every((peg) => peg.provider === "builtin");
}

/** As the board shows them now; one that left it, as it was. */
function asTheyAre(pegs: readonly Peg[], board: Board): readonly Peg[] {
  const now = new Map(board.pegs.map((peg) => [peg.id, peg]));
  return pegs.map((peg) => now.get(peg.id) ?? peg);
}

function Wall({ board, view }: { board: Board; view: View }): ReactElement {
  const filters = useFilters();
  const { typed, states, providers, servers, hints } = filters;
  const [, type] = useParam("q");
  const [, setStates] = useListParam("state");
  const [, setProviders] = useListParam("provider");
  const [, setServers] = useListParam("server");
  const [, setHints] = useListParam("hint");
  const [chosen, choose] = useState<ReadonlySet<string>>(new Set());
  const [turningOff, turnOff] = useState<readonly Peg[] | null>(null);
  const field = useRef<HTMLInputElement>(null);
  const operates = useMay("operate");
  const alone = chosen.size === 0 && turningOff?.length === 1 ? asTheyAre(turningOff, board)[0] : undefined;
  const stand = useStand(board.policyVersion, chosen.size > 0 || turningOff !== null, alone === undefined ? "" : seenOf(alone));
  const { throwAll, busy } = useThrowing(stand);
  const index = useMemo(() => wallIndex(board), [board]);
  const key = JSON.stringify(filters);
  const shown = useMemo(() => shownPegs(index, JSON.parse(key) as Filters), [index, key]);
  const kinds = useMemo(() => [...Map.groupBy(board.pegs, (peg) => peg.provider)].map(([kind, pegs]) => [kind, pegs.length] as const), [board]);
  const among = useMemo(() => serversOf(board), [board]);
  const filtered = typed !== "" || states.length + providers.length + servers.length + hints.length > 0;
  const many = useMemo(() => board.pegs.filter((peg) => chosen.has(peg.id)), [board, chosen]);
  const goingOff = useMemo(() => (turningOff === null ? null : asTheyAre(turningOff, board)), [turningOff, board]);
  if (view.isPlain && isBare(board)) return <FirstRun />;

  /** Of a chosen peg, all that are chosen. */
  const thrown = (peg: Peg): void => {
    if (!operates) return;
    const pegs = chosen.has(peg.id) ? many : [peg];
    if (pegs.length === 1 && isHeldElsewhere(peg)) {
      toast(`${peg.name}: ${heldWords(peg)} ${peg.sentence ?? ""}`, "wants");
      return;
    }
    if (peg.switchOn) turnOff(pegs);
    else void turnOn(pegs);
  };
  const turnOn = async (pegs: readonly Peg[]): Promise<void> => {
    // What is chosen stands on what was; what comes of it is looked at anew.
    if ((await throwAll({ pegs, on: true })) && pegs.some((peg) => chosen.has(peg.id))) choose(new Set());
  };
  const clear = (): void =>
    amend((query) => {
      for (const name of FILTERS) query.delete(name);
    });
  return (
    <div className="wall">
      <div className="wall-bar">
        <div className="row">
          <SearchField
            ref={field}
            label="Filter tools"
            placeholder="Type to filter"
            value={typed}
            onChange={type}
            onKeyDown={(event) => {
              if (event.key === "Escape" && typed !== "") {
                event.preventDefault();
                type("");
              }
              if (event.key === "ArrowDown") {
                event.preventDefault();
                document.querySelector<HTMLElement>(".wall-pegs [data-tool][tabindex='0']")?.focus();
              }
            }}
          />
          <p className="quiet small wall-count" role="status">
            {filtered ? `${number(shown.length)} of ${count(board.pegs.length, "tool")}` : count(board.pegs.length, "tool")}
          </p>
        </div>
      </div>
      <div className="wall-chips">
        <Chips name="State" among={STATES.filter((state) => board.totals[state] > 0 || states.includes(state))} chosen={states} onChange={setStates} counts={board.totals} show={(state) => <StateMark state={state} />} />
        {kinds.length > 1 && (
          <Chips
            name="Provider"
            among={kinds.map(([kind]) => kind)}
            chosen={providers}
            onChange={setProviders}
            counts={Object.fromEntries(kinds)}
            show={(kind) => (
              <>
                <Icon name={providerIcon(kind)} size={14} /> {kind}
              </>
            )}
          />
        )}
        {among.length > 1 && among.length <= MOST_CHIPS && (
          <Chips
            name="Server"
            among={among.map(({ id }) => id)}
            chosen={servers}
            onChange={setServers}
            counts={Object.fromEntries(among.map(({ id, many: each }) => [id, each]))}
            show={(id) => (
              <>
                <Icon name="servers" size={14} /> {among.find((each) => each.id === id)?.label ?? id}
              </>
            )}
          />
        )}
        {among.length > MOST_CHIPS && (
          <Select
            label="Server"
            unlabelled
            value={servers[0] ?? ""}
            onChange={(id) => setServers(id === "" ? [] : [id])}
            choices={[{ value: "", label: "every server" }, ...among.map(({ id, label, many: each }) => ({ value: id, label: `${label} (${each})` }))]}
          />
        )}
        <Chips name="Claimed" among={Object.keys(HINTS) as (keyof Hints)[]} chosen={hints} onChange={setHints} show={(hint) => <>claims {HINTS[hint]}</>} />
      </div>
      {shown.length === 0 && (
        <div className="board">
          {filtered ? (
            <EmptyState title="No tool passes these filters" icon="filter" action={<Button onClick={clear}>Clear the filters</Button>}>
              {typed !== "" && <InVain text={typed} view={view.query} version={board.policyVersion} />}
            </EmptyState>
          ) : (
            <EmptyState title="Nothing hangs here" action={view.isPlain ? <ButtonLink look="main" to="/servers" query={{ add: "paste" }}>Add a server</ButtonLink> : undefined}>
              {view.isPlain ? "No provider offers a tool yet." : `${view.principal} gets no tool at all in this view.`}
            </EmptyState>
          )}
        </div>
      )}
      {/* It stays while nothing passes: what comes back with the next letter need not be made anew. */}
      <Hanging
        board={board}
        shown={shown}
        filtered={filtered}
        chosen={chosen}
        onChoose={choose}
        onThrow={thrown}
        onType={(letter) => {
          type(typed + letter);
          field.current?.focus();
        }}
      />
      {view.isPlain && !filtered && <NextSteps />}
      {chosen.size > 0 && (
        <div className="wall-chosen" role="region" aria-label="Chosen tools">
          <b>{count(many.length, "tool")} chosen</b>
          {operates && (
            <>
              <Button small busy={busy} onClick={() => void turnOn(many.filter((peg) => !peg.switchOn))} disabled={many.every((peg) => peg.switchOn)}>
                Turn on
              </Button>
              <Button small busy={busy} onClick={() => turnOff(many.filter((peg) => peg.switchOn))} disabled={many.every((peg) => !peg.switchOn)}>
                Turn off
              </Button>
            </>
          )}
          <Button small look="bare" onClick={() => choose(new Set())}>
            Clear
          </Button>
          {turningOff === null && <Meanwhile of={stand} kept="What you chose is still chosen." />}
        </div>
      )}
      {goingOff !== null && (
        <TurningOff
          pegs={goingOff}
          stand={stand}
          busy={busy}
          onClose={() => turnOff(null)}
          onDone={(note) =>
            void throwAll({ pegs: goingOff, on: false }, note).then((done) => {
              if (!done) return;
              turnOff(null);
              choose(new Set());
            })
          }
        />
      )}
    </div>
  );
}
