/** What waits for a person: calls that want a word, and tools that are new or changed. */
import { useEffect, useLayoutEffect, useMemo, type ReactElement } from "react";
import { useAnswer } from "@/api/answers";
import { amend, currentPlace, useParam } from "@/lib/place";
import { command, count } from "@/lib/words";
import { Answered, Button, ButtonLink, EmptyState, Link, Screen, Skeleton, Tabs, Tag, Time } from "@/parts";
import { Call, Expiring } from "./Call";
import { after, grouped, stops, type Group, type Stop } from "./queue";
import { isInForce, StandingPermissions, useConsents } from "./Permissions";
import { Review } from "./Review";
import { Together } from "./Together";
import type { Approvals, Tickets } from "./told";
import "./approvals.css";

function choose(name: "tool" | "ticket" | "all", value: string): void {
  amend((query) => {
    for (const each of ["tool", "ticket", "all"]) query.delete(each);
    if (value !== "") query.set(name, value);
  });
}

/** Whether this is still what the person looks at: a decision is answered later than it is sent, and takes nobody away
 * from where they went meanwhile. */
function isShown(...names: readonly string[]): boolean {
  const { path, query } = currentPlace();
  return path === "/approvals" && ["ticket", "tool", "all"].every((name, at) => (query.get(name) ?? "") === names[at]);
}

const pick = (stop: Stop): void => choose(stop.kind, stop.key);

const WAITING = "waiting";
const STANDING = "standing";
const NOTHING: readonly Stop[] = [];

export default function ApprovalsScreen(): ReactElement {
  const [tool] = useParam("tool");
  const [ticket] = useParam("ticket");
  const [all] = useParam("all");
  const [tab, setTab] = useParam("tab", WAITING);
  const consents = useConsents();
  const approvals = useAnswer<Approvals>(["approvals", "board", "policy"], "/approvals");
  const tickets = useAnswer<Tickets>(["tickets"], "/tickets");
  const groups = useMemo(() => grouped(approvals.data?.waiting ?? [], approvals.data?.servers ?? []), [approvals.data]);
  const line = useMemo(() => stops(tickets.data?.tickets ?? [], groups), [tickets.data, groups]);
  const group = groups.find(({ id }) => id === all);
  const asked = ticket || tool;
  // Whoever names none is led to the first, when it is known which that is. From then on the address names it: what others
  // decide, and what comes to wait, never puts another one under the hand of whoever reads.
  const known = approvals.data !== undefined && !tickets.isPending;
  const first = known && all === "" && asked === "" ? line[0] : undefined;
  const chosen = all !== "" ? undefined : (line.find((stop) => stop.key === asked) ?? first);
  const isStanding = tab === STANDING;
  useLayoutEffect(() => {
    if (first !== undefined && !isStanding) pick(first);
  }, [first, isStanding]);
  useWalking(isStanding ? NOTHING : line, chosen);
  const onward = (): void => {
    if (!isShown(ticket, tool, all)) return;
    const next = after(line, asked);
    const stop = line.find(({ key }) => key === next);
    if (stop) pick(stop);
    else choose("tool", "");
  };
  const version = approvals.data?.policyVersion ?? 0;
  return (
    <Screen
      title="Approvals"
      lead={<Lead tools={approvals.data?.waiting.length} calls={tickets.data?.tickets.length} />}
      json={{ path: isStanding ? "/tickets/consents" : chosen?.kind === "ticket" ? "/tickets" : "/approvals" }}
      command={isStanding ? "pegboard tickets consents" : chosen?.kind === "ticket" ? command("pegboard", "tickets", "show", chosen.key) : chosen ? command("pegboard", "approvals", "show", chosen.key) : "pegboard approvals list"}
    >
      <Tabs
        name="Approvals"
        tabs={[
          { id: WAITING, label: "Waiting", count: line.length },
          { id: STANDING, label: "Standing permissions", count: consents.data?.consents.filter(isInForce).length ?? 0 },
        ]}
        chosen={isStanding ? STANDING : WAITING}
        onChange={setTab}
      >
        {isStanding ? (
          <StandingPermissions of={consents} />
        ) : (
            <Answered of={approvals} waiting={<Skeleton lines={12} height={32} />}>
              {(answer) =>
                !known ? (
                  <Skeleton lines={12} height={32} />
                ) : line.length === 0 && asked === "" && all === "" ? (
                  <div className="stack wide">
                    <EmptyState icon="approvals" title="Nothing waits for you" action={<ButtonLink to="/">To the wall</ButtonLink>}>
                      A tool that is new or changes is locked, and comes here to be read. So does a call that asks for a person's word.
                    </EmptyState>
                    <Blocked of={answer} />
                  </div>
                ) : (
                  <div className="split queue-and-review">
                    <nav className="sheet queue" aria-label="Queue">
                      {tickets.data !== undefined && tickets.data.tickets.length > 0 && (
                        <section>
                          <h2>Calls</h2>
                          <ul>
                            {tickets.data.tickets.map((each) => (
                              <li key={each.id}>
                                <button type="button" className="queue-line" aria-current={chosen?.key === each.id} onClick={() => choose("ticket", each.id)}>
                                  <span className="mono cut">{each.name}</span>
                                  <span className="quiet small">
                                    <Expiring at={each.deadline} />
                                  </span>
                                </button>
                              </li>
                            ))}
                          </ul>
                        </section>
                      )}
                      {groups.map((each) => (
                        <Provider key={each.id} group={each} chosen={chosen?.key ?? ""} />
                      ))}
                      <Blocked of={answer} />
                    </nav>
                    <section className="sheet" aria-label="Review">
                      {group !== undefined ? (
                        <Together key={group.id} group={group} version={version} onDecided={() => isShown(ticket, tool, all) && choose("all", "")} />
                      ) : all !== "" ? (
                        <EmptyState title={`Nothing of ${all} waits any more`} action={<Button onClick={() => choose("all", "")}>Go on</Button>}>
                          All of it was decided, or is no longer offered.
                        </EmptyState>
                      ) : ticket !== "" || chosen?.kind === "ticket" ? (
                        <Call key={ticket || chosen?.key} id={ticket || (chosen?.key ?? "")} onward={onward} />
                      ) : (
                        <Review key={tool || chosen?.key} id={tool || (chosen?.key ?? "")} onward={onward} />
                      )}
                    </section>
                  </div>
                )
              }
            </Answered>
        )}
      </Tabs>
    </Screen>
  );
}

function Lead({ tools, calls }: { tools: number | undefined; calls: number | undefined }): ReactElement {
  if (tools === undefined) return <>&nbsp;</>;
  return (
    <>
      {count(tools, "tool")} and {count(calls ?? 0, "call")} wait for a person
    </>
  );
}

/** j and k walk the queue. */
function useWalking(line: readonly Stop[], chosen: Stop | undefined): void {
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey || (event.target as Element).closest("input, textarea, select, dialog")) return;
      const by = event.key === "j" ? 1 : event.key === "k" ? -1 : 0;
      const stop = by === 0 ? undefined : line[line.findIndex(({ key }) => key === chosen?.key) + by];
      if (stop === undefined) return;
      event.preventDefault();
      pick(stop);
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, [line, chosen]);
}

function Provider({ group, chosen }: { group: Group; chosen: string }): ReactElement {
  return (
    <section>
      <div className="row apart">
        <h2 className="mono cut">{group.id}</h2>
        {group.tools.length > 1 && group.server?.fingerprint != null && (
          <Button look="bare" small onClick={() => choose("all", group.id)}>
            Read all {group.tools.length}
          </Button>
        )}
      </div>
      <ul>
        {group.tools.map((tool) => (
          <li key={tool.id}>
            <button type="button" className="queue-line" aria-current={chosen === tool.id} onClick={() => choose("tool", tool.id)}>
              <span className="queue-words">
                <span className="mono cut">{tool.name}</span>
                {tool.since !== null && (
                  <span className="quiet small nowrap">
                    waits <Time at={tool.since} lasts />
                  </span>
                )}
              </span>
              <span className="row tight">
                {tool.risk.hard + tool.risk.soft > 0 && <Tag tone="wants">{tool.risk.hard > 0 ? "looks poisoned" : "look closely"}</Tag>}
                <Tag>{tool.kind}</Tag>
              </span>
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Blocked({ of }: { of: Approvals }): ReactElement | null {
  if (of.blocked.length === 0) return null;
  return (
    <details className="blocked">
      <summary>Left locked ({of.blocked.length})</summary>
      <ul className="stack tight">
        {of.blocked.map((block) => (
          <li key={block.id}>
            <Link to="/approvals" query={{ tool: block.id }} className="mono small wrap-any">
              {block.id}
            </Link>
            <p className="quiet small">
              by {block.by} <Time at={block.at} /> {block.note !== "" && `· ${block.note}`}
            </p>
          </li>
        ))}
      </ul>
    </details>
  );
}
