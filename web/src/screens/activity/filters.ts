/** The filters of the list: in the URL, and as query parameters of the API. */
import { updateQuery, useParam, type Query } from "@/lib/router";
import { shellCommand } from "@/lib/format";

export const FILTERS = ["q", "tool", "principal", "kind", "outcome", "slower"] as const;

export type FilterName = (typeof FILTERS)[number];

export type Filters = Readonly<Record<FilterName, string>> & {
  readonly isEmpty: boolean;
  readonly query: Query;
  readonly command: string;
};

/** Milliseconds as a person types them; undefined if that is not a number. */
export function parseMilliseconds(text: string): number | undefined {
  const value = Number(text.trim().replace(",", "."));
  return text.trim() === "" || !Number.isFinite(value) || value < 0 ? undefined : value;
}

export function toQuery(values: Readonly<Record<FilterName, string>>): Query {
  return {
    q: values.q.trim(),
    tool: values.tool.trim(),
    principal: values.principal.trim(),
    kind: values.kind,
    outcome: values.outcome,
    slowerThan: parseMilliseconds(values.slower),
  };
}

/** The same filters as options of the CLI. */
export function toCommandOptions(query: Query): readonly string[] {
  const optionNames: Readonly<Record<string, string>> = { slowerThan: "slower-than" };
  return Object.entries(query).flatMap(([name, value]) =>
    value === undefined || value === null || value === "" ? [] : [`--${optionNames[name] ?? name}`, String(value)],
  );
}

export function useFilters(): Filters {
  const values = {
    q: useParam("q")[0],
    tool: useParam("tool")[0],
    principal: useParam("principal")[0],
    kind: useParam("kind")[0],
    outcome: useParam("outcome")[0],
    slower: useParam("slower")[0],
  };
  const query = toQuery(values);
  return {
    ...values,
    query,
    isEmpty: FILTERS.every((name) => values[name] === ""),
    command: shellCommand("pegboard", "activity", "list", ...toCommandOptions(query)),
  };
}

export function clearFilters(): void {
  updateQuery((query) => {
    for (const name of FILTERS) query.delete(name);
  });
}
