/** The review queue: tickets first, because they expire; then tools by provider. */
import type { Ticket, WaitingTool, WaitingServer } from "./types";

export type QueueItem =
  | { readonly kind: "ticket"; readonly key: string; readonly ticket: Ticket }
  | { readonly kind: "tool"; readonly key: string; readonly tool: WaitingTool };

export type ToolGroup = { readonly id: string; readonly server: WaitingServer | null; readonly tools: readonly WaitingTool[] };

/** In the order of the gateway, the oldest first. */
export function groupByServer(waiting: readonly WaitingTool[], servers: readonly WaitingServer[]): readonly ToolGroup[] {
  const groups = new Map<string, WaitingTool[]>();
  for (const tool of waiting) {
    const id = tool.server ?? "builtin";
    const group = groups.get(id);
    if (group) group.push(tool);
    else groups.set(id, [tool]);
  }
  return [...groups].map(([id, tools]) => ({ id, server: servers.find((each) => each.id === id) ?? null, tools }));
}

export function queueItems(tickets: readonly Ticket[], groups: readonly ToolGroup[]): readonly QueueItem[] {
  return [
    ...tickets.map((ticket) => ({ kind: "ticket" as const, key: ticket.id, ticket })),
    ...groups.flatMap((group) => group.tools.map((tool) => ({ kind: "tool" as const, key: tool.id, tool }))),
  ];
}

/** The next item after a decision: the one that follows, or the last; empty if the item is no longer in the queue. */
export function nextKey(items: readonly QueueItem[], key: string): string {
  const index = items.findIndex((item) => item.key === key);
  return (items[index + 1] ?? items[index - 1])?.key ?? "";
}
