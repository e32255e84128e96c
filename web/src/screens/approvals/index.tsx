/** What waits for a person: tickets, and tools that are new or changed. */
import { useEffect, useLayoutEffect, useMemo, type ReactElement } from "react";
import { useApiQuery } from "@/api/queries";
import { updateQuery, getLocation, useParam } from "@/lib/router";
import { shellCommand, formatCount } from "@/lib/format";
import { QueryResult, Button, ButtonLink, EmptyState, Link, Screen, Skeleton, Tabs, Tag, Time } from "@/components";
import { TicketReview, ExpiryCountdown } from "./TicketReview";
import { nextKey, groupByServer, queueItems, type ToolGroup, type QueueItem } from "./queue";
import { isActive, ConsentTable, useConsents } from "./Consents";
import { ToolReview } from "./ToolReview";
import { BatchReview } from "./BatchReview";
import type { Approvals, Tickets } from "./types";
import "./approvals.css";

function setSelection(name: "tool" | "ticket" | "all", value: string): void {
  updateQuery((query) => {
    for (const each of ["tool", "ticket", "all"]) query.delete(each);
    if (value !== "") query.set(name, value);
  });
}

/** Whether the person still looks at this item. A response must not move them away from where they went meanwhile. */
function isSelected(...names: readonly string[]): boolean {
  const { path, query } = getLocation();
  return path === "/approvals" && ["ticket", "tool", "all"].every((name, index) => (query.get(name) ?? "") === names[index]);
}

const selectItem = (item: QueueItem): void => setSelection(item.kind, item.key);

const WAITING_TAB = "waiting";
const CONSENTS_TAB = "standing";
const NO_ITEMS: readonly QueueItem[] = [];

export default function ApprovalsScreen(): ReactElement {
  const [tool] = useParam("tool");
  const [ticket] = useParam("ticket");
  const [server] = useParam("all");
  const [tab, setTab] = useParam("tab", WAITING_TAB);
  const consents = useConsents();
  const approvals = useApiQuery<Approvals>(["approvals", "board", "policy"], "/approvals");
  const tickets = useApiQuery<Tickets>(["tickets"], "/tickets");
  const groups = useMemo(() => groupByServer(approvals.data?.pending ?? [], approvals.data?.servers ?? []), [approvals.data]);
  const queue = useMemo(() => queueItems(tickets.data?.tickets ?? [], groups), [tickets.data, groups]);
  const group = groups.find(({ id }) => id === server);
  const requestedKey = ticket || tool;
  // Without an item in the URL the first one is selected, once the queue is loaded. From then on the URL names it, so
  // that decisions of others and new items never replace what somebody is reading.
  const isLoaded = approvals.data !== undefined && !tickets.isPending;
  const defaultItem = isLoaded && server === "" && requestedKey === "" ? queue[0] : undefined;
  const selected = server !== "" ? undefined : (queue.find((item) => item.key === requestedKey) ?? defaultItem);
  const showsConsents = tab === CONSENTS_TAB;
  useLayoutEffect(() => {
    if (defaultItem !== undefined && !showsConsents) selectItem(defaultItem);
  }, [defaultItem, showsConsents]);
  useQueueKeys(showsConsents ? NO_ITEMS : queue, selected);
  const goToNext = (): void => {
    if (!isSelected(ticket, tool, server)) return;
    const next = nextKey(queue, requestedKey);
    const item = queue.find(({ key }) => key === next);
    if (item) selectItem(item);
    else setSelection("tool", "");
  };
  const version = approvals.data?.policyVersion ?? 0;
  return (
    <Screen
      title="Approvals"
      lead={<QueueSummary tools={approvals.data?.pending.length} calls={tickets.data?.tickets.length} />}
      json={{ path: showsConsents ? "/tickets/consents" : selected?.kind === "ticket" ? "/tickets" : "/approvals" }}
      command={showsConsents ? "pegboard tickets consents" : selected?.kind === "ticket" ? shellCommand("pegboard", "tickets", "show", selected.key) : selected ? shellCommand("pegboard", "approvals", "show", selected.key) : "pegboard approvals list"}
    >
      <Tabs
        name="Approvals"
        tabs={[
          { id: WAITING_TAB, label: "Waiting", count: queue.length },
          { id: CONSENTS_TAB, label: "Standing permissions", count: consents.data?.consents.filter(isActive).length ?? 0 },
        ]}
        selected={showsConsents ? CONSENTS_TAB : WAITING_TAB}
        onChange={setTab}
      >
        {showsConsents ? (
          <ConsentTable consentsQuery={consents} />
        ) : (
            <QueryResult query={approvals} placeholder={<Skeleton lines={12} height={32} />}>
              {(loadedApprovals) =>
                !isLoaded ? (
                  <Skeleton lines={12} height={32} />
                ) : queue.length === 0 && requestedKey === "" && server === "" ? (
                  <div className="stack wide">
                    <EmptyState icon="approvals" title="Nothing waits for you" action={<ButtonLink to="/">To the wall</ButtonLink>}>
                      A tool that is new or changes is locked, and comes here to be read. So does a call that asks for a person's word.
                    </EmptyState>
                    <BlockedTools approvals={loadedApprovals} />
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
                                <button type="button" className="queue-line" aria-current={selected?.key === each.id} onClick={() => setSelection("ticket", each.id)}>
                                  <span className="mono truncate">{each.name}</span>
                                  <span className="muted small">
                                    <ExpiryCountdown at={each.deadline} />
                                  </span>
                                </button>
                              </li>
                            ))}
                          </ul>
                        </section>
                      )}
                      {groups.map((each) => (
                        <ServerGroup key={each.id} group={each} selected={selected?.key ?? ""} />
                      ))}
                      <BlockedTools approvals={loadedApprovals} />
                    </nav>
                    <section className="sheet" aria-label="Review">
                      {group !== undefined ? (
                        <BatchReview key={group.id} group={group} version={version} onDecided={() => isSelected(ticket, tool, server) && setSelection("all", "")} />
                      ) : server !== "" ? (
                        <EmptyState title={`Nothing of ${server} waits any more`} action={<Button onClick={() => setSelection("all", "")}>Go on</Button>}>
                          All of it was decided, or is no longer offered.
                        </EmptyState>
                      ) : ticket !== "" || selected?.kind === "ticket" ? (
                        <TicketReview key={ticket || selected?.key} id={ticket || (selected?.key ?? "")} onContinue={goToNext} />
                      ) : (
                        <ToolReview key={tool || selected?.key} id={tool || (selected?.key ?? "")} onContinue={goToNext} />
                      )}
                    </section>
                  </div>
                )
              }
            </QueryResult>
        )}
      </Tabs>
    </Screen>
  );
}

function QueueSummary({ tools, calls }: { tools: number | undefined; calls: number | undefined }): ReactElement {
  if (tools === undefined) return <>&nbsp;</>;
  return (
    <>
      {formatCount(tools, "tool")} and {formatCount(calls ?? 0, "call")} wait for a person
    </>
  );
}

/** The keys j and k move through the queue. */
function useQueueKeys(queue: readonly QueueItem[], selected: QueueItem | undefined): void {
  useEffect(() => {
    const handleKey = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey || (event.target as Element).closest("input, textarea, select, dialog")) return;
      const offset = event.key === "j" ? 1 : event.key === "k" ? -1 : 0;
      const item = offset === 0 ? undefined : queue[queue.findIndex(({ key }) => key === selected?.key) + offset];
      if (item === undefined) return;
      event.preventDefault();
      selectItem(item);
    };
    addEventListener("keydown", handleKey);
    return () => removeEventListener("keydown", handleKey);
  }, [queue, selected]);
}

function ServerGroup({ group, selected }: { group: ToolGroup; selected: string }): ReactElement {
  return (
    <section>
      <div className="row apart">
        <h2 className="mono truncate">{group.id}</h2>
        {group.tools.length > 1 && group.server?.fingerprint != null && (
          <Button variant="ghost" small onClick={() => setSelection("all", group.id)}>
            Read all {group.tools.length}
          </Button>
        )}
      </div>
      <ul>
        {group.tools.map((tool) => (
          <li key={tool.id}>
            <button type="button" className="queue-line" aria-current={selected === tool.id} onClick={() => setSelection("tool", tool.id)}>
              <span className="queue-text">
                <span className="mono truncate">{tool.name}</span>
                {tool.since !== null && (
                  <span className="muted small nowrap">
                    waits <Time at={tool.since} elapsed />
                  </span>
                )}
              </span>
              <span className="row tight">
                {tool.risk.hard + tool.risk.soft > 0 && <Tag tone="needs_action">{tool.risk.hard > 0 ? "looks poisoned" : "look closely"}</Tag>}
                <Tag>{tool.kind}</Tag>
              </span>
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}

function BlockedTools({ approvals }: { approvals: Approvals }): ReactElement | null {
  if (approvals.blocked.length === 0) return null;
  return (
    <details className="blocked">
      <summary>Left locked ({approvals.blocked.length})</summary>
      <ul className="stack tight">
        {approvals.blocked.map((block) => (
          <li key={block.id}>
            <Link to="/approvals" query={{ tool: block.id }} className="mono small wrap-any">
              {block.id}
            </Link>
            <p className="muted small">
              by {block.by} <Time at={block.at} /> {block.note !== "" && `· ${block.note}`}
            </p>
          </li>
        ))}
      </ul>
    </details>
  );
}
