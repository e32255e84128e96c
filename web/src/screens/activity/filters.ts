/** What narrows the list, as the address holds it and as the routes take it. */
import { amend, useParam, type Query } from "@/lib/place";
import { command } from "@/lib/words";

export const FILTERS = ["q", "tool", "principal", "kind", "outcome", "slower"] as const;

export type FilterName = (typeof FILTERS)[number];

export type Filters = Readonly<Record<FilterName, string>> & {
  readonly isPlain: boolean;
  readonly query: Query;
  readonly command: string;
};

/** Milliseconds as somebody types them, or nothing while they are no number. */
export function milliseconds(typed: string): number | undefined {
  const read = Number(typed.trim().replace(",", "."));
  return typed.trim() === "" || !Number.isFinite(read) || read < 0 ? undefined : read;
}

export function asQuery(said: Readonly<Record<FilterName, string>>): Query {
  return {
    q: said.q.trim(),
    tool: said.tool.trim(),
    principal: said.principal.trim(),
    kind: said.kind,
    outcome: said.outcome,
    slowerThan: milliseconds(said.slower),
  };
}

/** The words of a command for what a query narrows. */
export function asWords(query: Query): readonly string[] {
  const named: Readonly<Record<string, string>> = { slowerThan: "slower-than" };
  return Object.entries(query).flatMap(([name, value]) =>
    value === undefined || value === null || value === "" ? [] : [`--${named[name] ?? name}`, String(value)],
  );
}

export function useFilters(): Filters {
  const said = {
    q: useParam("q")[0],
    tool: useParam("tool")[0],
    principal: useParam("principal")[0],
    kind: useParam("kind")[0],
    outcome: useParam("outcome")[0],
    slower: useParam("slower")[0],
  };
  const query = asQuery(said);
  return {
    ...said,
    query,
    isPlain: FILTERS.every((name) => said[name] === ""),
    command: command("pegboard", "activity", "list", ...asWords(query)),
  };
}

export function clear(): void {
  amend((query) => {
    for (const name of FILTERS) query.delete(name);
  });
}
