/** Formats numbers and times, the same on every screen. */

const NUMBER_FORMAT = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const COMPACT_FORMAT = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

/** 6200 as "6,200". */
export function formatNumber(value: number): string {
  return NUMBER_FORMAT.format(value);
}

/** 6200 as "6.2K", for narrow places. */
export function formatCompactNumber(value: number): string {
  return COMPACT_FORMAT.format(value);
}

/** "1 tool", "7 tools", "no tools". */
export function formatCount(value: number, singular: string, plural = `${singular}s`): string {
  return value === 0 ? `no ${plural}` : `${formatNumber(value)} ${value === 1 ? singular : plural}`;
}

/** Milliseconds: "0.4 ms", "12 ms", "1.3 s", "2 min 5 s". */
export function formatDuration(milliseconds: number): string {
  if (milliseconds < 10) return `${Math.round(milliseconds * 10) / 10} ms`;
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`;
  const seconds = milliseconds / 1000;
  if (seconds < 60) return `${Math.round(seconds * 10) / 10} s`;
  const minutes = Math.floor(seconds / 60);
  const rest = Math.round(seconds % 60);
  if (minutes < 60) return rest === 0 ? `${minutes} min` : `${minutes} min ${rest} s`;
  const hours = Math.floor(minutes / 60);
  return minutes % 60 === 0 ? `${hours} h` : `${hours} h ${minutes % 60} min`;
}

/** Bytes: "512 B", "12 KB", "3.4 MB". */
export function formatBytes(value: number): string {
  if (value < 1000) return `${value} B`;
  const kilobytes = value / 1000;
  if (kilobytes < 1000) return `${kilobytes < 10 ? Math.round(kilobytes * 10) / 10 : Math.round(kilobytes)} KB`;
  return `${Math.round(kilobytes / 100) / 10} MB`;
}

const TIME_UNITS: readonly (readonly [number, string])[] = [
  [60, "s"],
  [60, "min"],
  [24, "h"],
  [7, "d"],
];

/** The time since or until a date: "just now", "12 s ago", "in 5 min"; from a week on, the day. */
export function formatRelativeTime(date: string | number | Date, now: number = Date.now()): string {
  const timestamp = new Date(date).getTime();
  if (Number.isNaN(timestamp)) return String(date);
  const seconds = Math.abs(now - timestamp) / 1000;
  if (seconds < 5) return timestamp > now ? "at once" : "just now";
  let amount = seconds;
  for (const [size, unit] of TIME_UNITS) {
    if (amount < size) return timestamp > now ? `in ${Math.floor(amount)} ${unit}` : `${Math.floor(amount)} ${unit} ago`;
    amount /= size;
  }
  return new Date(timestamp).toLocaleDateString("en", { year: "numeric", month: "short", day: "numeric" });
}

/** How long something has lasted: "for 12 s", "for 5 min"; from a week on, since which day. */
export function formatElapsedTime(date: string | number | Date, now: number = Date.now()): string {
  const relative = formatRelativeTime(date, Math.max(now, new Date(date).getTime()));
  if (relative === "just now") return "for a moment";
  return relative.endsWith(" ago") ? `for ${relative.slice(0, -4)}` : `since ${relative}`;
}

/** The full date and time, for titles. */
export function formatDateTime(value: string | number | Date): string {
  const date = new Date(value);
  return Number.isNaN(date.getTime())
    ? String(value)
    : date.toLocaleString("en", { dateStyle: "medium", timeStyle: "medium" });
}

/** The day in UTC: "2026-12-18". */
export function formatDay(value: string): string {
  const date = new Date(value);
  return Number.isNaN(date.getTime()) ? value : date.toISOString().slice(0, 10);
}

/** "a", "a and b", "a, b and c". */
export function formatList(items: readonly string[]): string {
  if (items.length < 2) return items[0] ?? "";
  return `${items.slice(0, -1).join(", ")} and ${items.at(-1)}`;
}

/** An argument for a shell: as it is, or in single quotes. */
export function shellQuote(arg: string): string {
  return /^[\w@%+=:,./~-]+$/.test(arg) ? arg : `'${arg.replaceAll("'", `'\\''`)}'`;
}

/** A command line for a shell. Arguments that are undefined, false or empty are left out. */
export function shellCommand(...args: readonly (string | number | false | null | undefined)[]): string {
  return args
    .filter((arg) => arg !== undefined && arg !== null && arg !== false && arg !== "")
    .map((arg) => shellQuote(String(arg)))
    .join(" ");
}
