/** When a consent expires: the options, and the fields of the request. */
import { formatCount } from "@/lib/format";

export type Expiry = {
  /** A number of days, `date` or `never`. */
  readonly choice: string;
  /** The last day, as a date field has it. */
  readonly date: string;
};

const DEFAULT_DAYS = [1, 7, 30, 90];
const DAY_MS = 86_400_000;

/** `days` is the board's default; `null` if consents do not expire. */
export function initialChoice(days: number | null): string {
  return days === null ? "never" : String(days);
}

export function expiryOptions(days: number | null): readonly { readonly value: string; readonly label: string }[] {
  const lengths = [...new Set(days === null ? DEFAULT_DAYS : [...DEFAULT_DAYS, days])].sort((a, b) => a - b);
  return [
    ...lengths.map((dayCount) => ({ value: String(dayCount), label: `${formatCount(dayCount, "day")} from now` })),
    { value: "date", label: "a date" },
    ...(days === null ? [{ value: "never", label: "it is revoked" }] : []),
  ];
}

export function toRequestFields(expiry: Expiry): { readonly expiresInDays?: number; readonly expiresAt?: string } {
  if (expiry.choice === "never") return { expiresAt: "never" };
  return expiry.choice === "date" ? { expiresAt: `${expiry.date}T23:59:59Z` } : { expiresInDays: Number(expiry.choice) };
}

/** `null` if it does not expire. */
export function expiryDate(expiry: Expiry, now: number): string | null {
  if (expiry.choice === "never") return null;
  return expiry.choice === "date" ? `${expiry.date}T23:59:59Z` : new Date(now + Number(expiry.choice) * DAY_MS).toISOString();
}
