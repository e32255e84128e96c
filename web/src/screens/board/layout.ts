/** The layout of the board: the tools that match the filters, in rows as wide as the screen. */
import type { Board, BoardToolset, ToolHints, ToolCard, ToolState } from "@/api/types";
import { buildTextIndex, searchInOrder, type TextIndex } from "@/lib/text-search";

export type BoardRow =
  | { readonly kind: "heading"; readonly toolset: BoardToolset; readonly shownCount: number; readonly first: boolean }
  /** `firstIndex` is the index of its first card among all that are shown. */
  | { readonly kind: "cards"; readonly id: string; readonly firstIndex: number; readonly tools: readonly ToolCard[] };

export type BoardFilters = {
  readonly filterText: string;
  readonly states: readonly string[];
  readonly providers: readonly string[];
  readonly servers: readonly string[];
  readonly hints: readonly string[];
};

export const HINT_LABELS: Readonly<Record<keyof ToolHints, string>> = {
  readOnly: "read-only",
  destructive: "destructive",
  idempotent: "idempotent",
  openWorld: "open world",
};

/** Built once per response, so that a keystroke only compares. */
export function boardIndex(board: Board): TextIndex<ToolCard> {
  const titles = new Map(board.toolsets.map((toolset) => [toolset.id, toolset.title]));
  return buildTextIndex(board.tools, (tool) => `${tool.name} ${tool.title ?? ""} ${tool.wireName ?? ""} ${tool.id} ${titles.get(tool.toolsetId) ?? ""}`);
}

/** The servers to filter by. The label is the server's id, with its toolset if two toolsets have a server of that id. */
export function serverOptions(board: Board): readonly { readonly id: string; readonly label: string; readonly toolCount: number }[] {
  const toolCount = new Map<string, number>();
  const names = new Map<string, string>();
  for (const tool of board.tools) {
    if (tool.serverId === null) continue;
    toolCount.set(serverKey(tool), (toolCount.get(serverKey(tool)) ?? 0) + 1);
    names.set(serverKey(tool), tool.serverId);
  }
  const allNames = [...names.values()];
  const isUnique = (name: string): boolean => allNames.indexOf(name) === allNames.lastIndexOf(name);
  return [...names].map(([id, name]) => ({ id, label: isUnique(name) ? name : id, toolCount: toolCount.get(id) ?? 0 }));
}

function serverKey(tool: ToolCard): string {
  return `${tool.toolsetId}~${tool.serverId}`;
}

/** The same filters as options of the CLI. */
export function filterOptions({ filterText, states, providers, servers, hints }: BoardFilters): readonly string[] {
  const lists = { state: states, provider: providers, server: servers, hint: hints };
  return [
    ...(filterText.trim() === "" ? [] : ["--q", filterText.trim()]),
    ...Object.entries(lists).flatMap(([name, selected]) => (selected.length === 0 ? [] : [`--${name}`, selected.join(",")])),
  ];
}

export function filterTools(index: TextIndex<ToolCard>, { filterText, states, providers, servers, hints }: BoardFilters): readonly ToolCard[] {
  const matches = searchInOrder(index, filterText);
  if (states.length + providers.length + servers.length + hints.length === 0) return matches;
  return matches.filter(
    (tool) =>
      (states.length === 0 || states.includes(tool.state)) &&
      (providers.length === 0 || providers.includes(tool.provider)) &&
      (servers.length === 0 || servers.includes(serverKey(tool))) &&
      hints.every((hint) => tool.hints[hint as keyof ToolHints]),
  );
}

/** Toolsets in the order of the response. While a filter is active, toolsets without a match are left out. */
export function layoutBoard(toolsets: readonly BoardToolset[], tools: readonly ToolCard[], columns: number, isFiltered: boolean): { readonly rows: readonly BoardRow[]; readonly orderedTools: readonly ToolCard[] } {
  const groups = new Map<string, ToolCard[]>();
  for (const tool of tools) {
    const group = groups.get(tool.toolsetId);
    if (group === undefined) groups.set(tool.toolsetId, [tool]);
    else group.push(tool);
  }
  const rows: BoardRow[] = [];
  const orderedTools: ToolCard[] = [];
  for (const toolset of toolsets) {
    const group = groups.get(toolset.id) ?? [];
    if (group.length === 0 && isFiltered) continue;
    rows.push({ kind: "heading", toolset, shownCount: group.length, first: rows.length === 0 });
    for (let index = 0; index < group.length; index += columns) {
      rows.push({ kind: "cards", id: `${toolset.id} ${index}`, firstIndex: orderedTools.length + index, tools: group.slice(index, index + columns) });
    }
    orderedTools.push(...group);
  }
  return { rows, orderedTools };
}

/** The same for one tool of one server in two toolsets: these cards are highlighted together. */
export function sharedToolKey(tool: ToolCard): string {
  return tool.serverId === null ? tool.id : `${tool.serverId} ${tool.name}`;
}

/** "41 open, 7 locked, 2 want you; 6,200 tokens if all shown", from the gateway's counts. */
export function formatTotals(totals: Board["totals"], format: (value: number) => string): string {
  const labels: Readonly<Record<ToolState, (count: number) => string>> = {
    open: (count) => `${format(count)} open`,
    locked: (count) => `${format(count)} locked`,
    needs_action: (count) => `${format(count)} ${count === 1 ? "wants" : "want"} you`,
    broken: (count) => `${format(count)} broken`,
    missing: (count) => `${format(count)} no longer offered`,
  };
  const parts = (Object.keys(labels) as ToolState[])
    .filter((state) => totals[state] > 0 || state === "open" || state === "locked")
    .map((state) => labels[state](totals[state]));
  return `${parts.join(", ")}; ${format(totals.tokens)} tokens if all shown`;
}

/** The index that an arrow key leads to, across rows and headings. */
export function nextIndex(rows: readonly BoardRow[], index: number, key: string): number {
  const cardRows = rows.filter((line) => line.kind === "cards");
  const rowIndex = cardRows.findIndex((row) => index >= row.firstIndex && index < row.firstIndex + row.tools.length);
  const row = cardRows[rowIndex];
  const last = cardRows.at(-1);
  if (row === undefined || last === undefined) return 0;
  const end = last.firstIndex + last.tools.length - 1;
  const column = index - row.firstIndex;
  const sameColumn = (next: typeof row | undefined): number => (next === undefined ? index : next.firstIndex + Math.min(column, next.tools.length - 1));
  switch (key) {
    case "ArrowRight":
      return Math.min(index + 1, end);
    case "ArrowLeft":
      return Math.max(index - 1, 0);
    case "ArrowDown":
      return sameColumn(cardRows[rowIndex + 1]);
    case "ArrowUp":
      return sameColumn(cardRows[rowIndex - 1]);
    case "Home":
      return 0;
    case "End":
      return end;
    case "PageDown":
      return sameColumn(cardRows[Math.min(rowIndex + 10, cardRows.length - 1)]);
    case "PageUp":
      return sameColumn(cardRows[Math.max(rowIndex - 10, 0)]);
    default:
      return index;
  }
}
