/** Numbers and times in words, the same on every screen. */

const NUMBER = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const SHORT = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

/** 6200 as "6,200". */
export function number(value: number): string {
  return NUMBER.format(value);
}

/** 6200 as "6.2K", where there is no room. */
export function shortNumber(value: number): string {
  return SHORT.format(value);
}

/** "1 tool", "7 tools", "no tools". */
export function count(value: number, one: string, many = `${one}s`): string {
  return value === 0 ? `no ${many}` : `${number(value)} ${value === 1 ? one : many}`;
}

/** Milliseconds: "0.4 ms", "12 ms", "1.3 s", "2 min 5 s". */
export function span(milliseconds: number): string {
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
export function bytes(value: number): string {
  if (value < 1000) return `${value} B`;
  const kilo = value / 1000;
  if (kilo < 1000) return `${kilo < 10 ? Math.round(kilo * 10) / 10 : Math.round(kilo)} KB`;
  return `${Math.round(kilo / 100) / 10} MB`;
}

const STEPS: readonly (readonly [number, string])[] = [
  [60, "s"],
  [60, "min"],
  [24, "h"],
  [7, "d"],
];

/** How long ago or until then: "just now", "12 s ago", "in 5 min"; from a week on, the day. */
export function ago(then: string | number | Date, now: number = Date.now()): string {
  const at = new Date(then).getTime();
  if (Number.isNaN(at)) return String(then);
  const away = Math.abs(now - at) / 1000;
  if (away < 5) return at > now ? "at once" : "just now";
  let left = away;
  for (const [size, unit] of STEPS) {
    if (left < size) return at > now ? `in ${Math.floor(left)} ${unit}` : `${Math.floor(left)} ${unit} ago`;
    left /= size;
  }
  return new Date(at).toLocaleDateString("en", { year: "numeric", month: "short", day: "numeric" });
}

/** How long it has been so: "for 12 s", "for 5 min"; from a week on, since which day. */
export function lasting(then: string | number | Date, now: number = Date.now()): string {
  const told = ago(then, Math.max(now, new Date(then).getTime()));
  if (told === "just now") return "for a moment";
  return told.endsWith(" ago") ? `for ${told.slice(0, -4)}` : `since ${told}`;
}

/** The moment in full, as a title. */
export function moment(then: string | number | Date): string {
  const at = new Date(then);
  return Number.isNaN(at.getTime())
    ? String(then)
    : at.toLocaleString("en", { dateStyle: "medium", timeStyle: "medium" });
}

/** The day alone, in UTC: "2026-12-18". */
export function day(then: string): string {
  const at = new Date(then);
  return Number.isNaN(at.getTime()) ? then : at.toISOString().slice(0, 10);
}

/** "a", "a and b", "a, b and c". */
export function listed(words: readonly string[]): string {
  if (words.length < 2) return words[0] ?? "";
  return `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;
}

/** A word for a shell: as it is, or in single quotes. */
export function quoted(word: string): string {
  return /^[\w@%+=:,./~-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** One line for a shell from words; what is undefined or empty is left out. */
export function command(...words: readonly (string | number | false | null | undefined)[]): string {
  return words
    .filter((word) => word !== undefined && word !== null && word !== false && word !== "")
    .map((word) => quoted(String(word)))
    .join(" ");
}
