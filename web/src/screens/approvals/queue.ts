/** The queue as a person goes through it: calls that wait first, because they expire; then tools, provider by provider. */
import type { Ticket, Waiting, WaitingServer } from "./told";

export type Stop =
  | { readonly kind: "ticket"; readonly key: string; readonly ticket: Ticket }
  | { readonly kind: "tool"; readonly key: string; readonly tool: Waiting };

export type Group = { readonly id: string; readonly server: WaitingServer | null; readonly tools: readonly Waiting[] };

/** In the order of the gateway, which is the oldest first. */
export function grouped(waiting: readonly Waiting[], servers: readonly WaitingServer[]): readonly Group[] {
  const groups = new Map<string, Waiting[]>();
  for (const tool of waiting) {
    const id = tool.server ?? "builtin";
    const found = groups.get(id);
    if (found) found.push(tool);
    else groups.set(id, [tool]);
  }
  return [...groups].map(([id, tools]) => ({ id, server: servers.find((each) => each.id === id) ?? null, tools }));
}

export function stops(tickets: readonly Ticket[], groups: readonly Group[]): readonly Stop[] {
  return [
    ...tickets.map((ticket) => ({ kind: "ticket" as const, key: ticket.id, ticket })),
    ...groups.flatMap((group) => group.tools.map((tool) => ({ kind: "tool" as const, key: tool.id, tool }))),
  ];
}

/** Where to go when the chosen one is decided: to the one that took its place, or the last; to the first, when others
 * decided it and it waits no more. */
export function after(all: readonly Stop[], key: string): string {
  const at = all.findIndex((stop) => stop.key === key);
  return (all[at + 1] ?? all[at - 1])?.key ?? "";
}
