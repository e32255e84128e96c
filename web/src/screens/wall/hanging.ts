/** What hangs where: the pegs that pass the filters, in lines as wide as the wall. */
import type { Board, BoardToolset, Hints, Peg, PegState } from "@/api/types";
import { indexed, matching, type Indexed } from "@/lib/finding";

export type Line =
  | { readonly kind: "head"; readonly toolset: BoardToolset; readonly shown: number; readonly first: boolean }
  /** `from` is the place of its first peg among all that are shown. */
  | { readonly kind: "pegs"; readonly id: string; readonly from: number; readonly pegs: readonly Peg[] };

export type Filters = {
  readonly typed: string;
  readonly states: readonly string[];
  readonly providers: readonly string[];
  readonly servers: readonly string[];
  readonly hints: readonly string[];
};

export const HINTS: Readonly<Record<keyof Hints, string>> = {
  readOnly: "read-only",
  destructive: "destructive",
  idempotent: "idempotent",
  openWorld: "open world",
};

/** Made once for an answer, so that a keystroke only compares. */
export function wallIndex(board: Board): Indexed<Peg> {
  const titles = new Map(board.toolsets.map((toolset) => [toolset.id, toolset.title]));
  return indexed(board.pegs, (peg) => `${peg.name} ${peg.title ?? ""} ${peg.wireName ?? ""} ${peg.id} ${titles.get(peg.toolsetId) ?? ""}`);
}

/** A server as it is chosen: by its id, and by its toolset too where two toolsets have one of that id. */
export function serversOf(board: Board): readonly { readonly id: string; readonly label: string; readonly many: number }[] {
  const many = new Map<string, number>();
  const own = new Map<string, string>();
  for (const peg of board.pegs) {
    if (peg.serverId === null) continue;
    many.set(serverOf(peg), (many.get(serverOf(peg)) ?? 0) + 1);
    own.set(serverOf(peg), peg.serverId);
  }
  const called = [...own.values()];
  const isAlone = (name: string): boolean => called.indexOf(name) === called.lastIndexOf(name);
  return [...own].map(([id, name]) => ({ id, label: isAlone(name) ? name : id, many: many.get(id) ?? 0 }));
}

function serverOf(peg: Peg): string {
  return `${peg.toolsetId}~${peg.serverId}`;
}

/** The same filters as words of the command. */
export function filterWords({ typed, states, providers, servers, hints }: Filters): readonly string[] {
  const lists = { state: states, provider: providers, server: servers, hint: hints };
  return [
    ...(typed.trim() === "" ? [] : ["--q", typed.trim()]),
    ...Object.entries(lists).flatMap(([name, chosen]) => (chosen.length === 0 ? [] : [`--${name}`, chosen.join(",")])),
  ];
}

export function shownPegs(index: Indexed<Peg>, { typed, states, providers, servers, hints }: Filters): readonly Peg[] {
  const found = matching(index, typed);
  if (states.length + providers.length + servers.length + hints.length === 0) return found;
  return found.filter(
    (peg) =>
      (states.length === 0 || states.includes(peg.state)) &&
      (providers.length === 0 || providers.includes(peg.provider)) &&
      (servers.length === 0 || servers.includes(serverOf(peg))) &&
      hints.every((hint) => peg.hints[hint as keyof Hints]),
  );
}

/** Toolsets in the order of the answer; those of which nothing is shown are left out while something is filtered. */
export function wallLines(toolsets: readonly BoardToolset[], pegs: readonly Peg[], columns: number, filtered: boolean): { readonly lines: readonly Line[]; readonly placed: readonly Peg[] } {
  const groups = new Map<string, Peg[]>();
  for (const peg of pegs) {
    const group = groups.get(peg.toolsetId);
    if (group === undefined) groups.set(peg.toolsetId, [peg]);
    else group.push(peg);
  }
  const lines: Line[] = [];
  const placed: Peg[] = [];
  for (const toolset of toolsets) {
    const group = groups.get(toolset.id) ?? [];
    if (group.length === 0 && filtered) continue;
    lines.push({ kind: "head", toolset, shown: group.length, first: lines.length === 0 });
    for (let at = 0; at < group.length; at += columns) {
      lines.push({ kind: "pegs", id: `${toolset.id} ${at}`, from: placed.length + at, pegs: group.slice(at, at + columns) });
    }
    placed.push(...group);
  }
  return { lines, placed };
}

/** The same tool of the same server hangs in two toolsets under two ids: they are lit together. */
export function likeness(peg: Peg): string {
  return peg.serverId === null ? peg.id : `${peg.serverId} ${peg.name}`;
}

/** "41 open, 7 locked, 2 want you; 6,200 tokens if all shown", as the gateway counted. */
export function totalsWords(totals: Board["totals"], number: (value: number) => string): string {
  const words: Readonly<Record<PegState, (many: number) => string>> = {
    open: (many) => `${number(many)} open`,
    locked: (many) => `${number(many)} locked`,
    wants: (many) => `${number(many)} ${many === 1 ? "wants" : "want"} you`,
    broken: (many) => `${number(many)} broken`,
    gone: (many) => `${number(many)} no longer offered`,
  };
  const parts = (Object.keys(words) as PegState[])
    .filter((state) => totals[state] > 0 || state === "open" || state === "locked")
    .map((state) => words[state](totals[state]));
  return `${parts.join(", ")}; ${number(totals.tokens)} tokens if all shown`;
}

/** Where an arrow key leads from a place, over the ends of lines and the heads between them. */
export function moved(lines: readonly Line[], from: number, key: string): number {
  const rows = lines.filter((line) => line.kind === "pegs");
  const at = rows.findIndex((row) => from >= row.from && from < row.from + row.pegs.length);
  const row = rows[at];
  const last = rows.at(-1);
  if (row === undefined || last === undefined) return 0;
  const end = last.from + last.pegs.length - 1;
  const column = from - row.from;
  const over = (next: typeof row | undefined): number => (next === undefined ? from : next.from + Math.min(column, next.pegs.length - 1));
  switch (key) {
    case "ArrowRight":
      return Math.min(from + 1, end);
    case "ArrowLeft":
      return Math.max(from - 1, 0);
    case "ArrowDown":
      return over(rows[at + 1]);
    case "ArrowUp":
      return over(rows[at - 1]);
    case "Home":
      return 0;
    case "End":
      return end;
    case "PageDown":
      return over(rows[Math.min(at + 10, rows.length - 1)]);
    case "PageUp":
      return over(rows[Math.max(at - 10, 0)]);
    default:
      return from;
  }
}
