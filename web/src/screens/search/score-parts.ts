/** The parts of a score as bars, with one scale for all results so that lengths can be compared. */
import type { BarPart, Tone } from "@/components";
import type { Hit } from "./types";

export const SCORE_PARTS: readonly { readonly id: string; readonly label: string; readonly tone: Tone }[] = [
  { id: "name", label: "name", tone: "plot-1" },
  { id: "exact_name", label: "exact name", tone: "plot-5" },
  { id: "description", label: "description", tone: "plot-2" },
  { id: "arguments", label: "argument names", tone: "plot-3" },
  { id: "server", label: "server", tone: "plot-4" },
  { id: "meaning", label: "meaning", tone: "plot-6" },
];

/** What every tool starts with: no bar, because it is the same for all. */
export const BASE_PART = "base";

export function scoreParts(hit: Hit): readonly BarPart[] {
  const known = SCORE_PARTS.filter((part) => part.id in hit.scoreParts).map((part) => ({ ...part, value: hit.scoreParts[part.id] ?? 0 }));
  const others = Object.entries(hit.scoreParts).filter(([id]) => id !== BASE_PART && SCORE_PARTS.every((part) => part.id !== id));
  return [...known, ...others.map(([id, value]) => ({ id, label: id, value, tone: "missing" as const }))];
}

/** The largest total, for the scale. */
export function maxTotal(hits: readonly Hit[]): number {
  return Math.max(0, ...hits.map((hit) => scoreParts(hit).reduce((sum, part) => sum + Math.max(part.value, 0), 0)));
}

/** The parts that at least one result has. */
export function partsInUse(hits: readonly Hit[]): readonly (typeof SCORE_PARTS)[number][] {
  return SCORE_PARTS.filter((part) => hits.some((hit) => (hit.scoreParts[part.id] ?? 0) > 0));
}

/** "2.07", "−0.08". */
export function formatScore(value: number): string {
  return value.toFixed(2).replace("-", "−");
}

/** A default name for a saved query, without characters that a URL path cannot hold. */
export function suggestedName(query: string): string {
  return query.replaceAll(/[/\u0000-\u001f]+/g, " ").trim().slice(0, 100);
}
