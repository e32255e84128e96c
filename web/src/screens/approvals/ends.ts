/** When a standing permission ends: the choices, and what the API takes of them. */
import { count } from "@/lib/words";

export type End = {
  /** A number of days, `date` or `never`. */
  readonly choice: string;
  /** The last day, as a date field has it. */
  readonly date: string;
};

const DAYS = [1, 7, 30, 90];
const DAY_MS = 86_400_000;

/** `days` is what the board says; `null` where permissions never end. */
export function firstChoice(days: number | null): string {
  return days === null ? "never" : String(days);
}

export function choicesOf(days: number | null): readonly { readonly value: string; readonly label: string }[] {
  const lengths = [...new Set(days === null ? DAYS : [...DAYS, days])].sort((a, b) => a - b);
  return [
    ...lengths.map((each) => ({ value: String(each), label: `${count(each, "day")} from now` })),
    { value: "date", label: "a date" },
    ...(days === null ? [{ value: "never", label: "it is revoked" }] : []),
  ];
}

export function endBody(end: End): { readonly expiresInDays?: number; readonly expiresAt?: string } {
  if (end.choice === "never") return { expiresAt: "never" };
  return end.choice === "date" ? { expiresAt: `${end.date}T23:59:59Z` } : { expiresInDays: Number(end.choice) };
}

/** `null` where it has no end. */
export function endOf(end: End, now: number): string | null {
  if (end.choice === "never") return null;
  return end.choice === "date" ? `${end.date}T23:59:59Z` : new Date(now + Number(end.choice) * DAY_MS).toISOString();
}
