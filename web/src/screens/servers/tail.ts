/** Lines of a log as they come, the oldest let go. */
import type { Log, LogLevel } from "@/api/servers";

export type Tail = {
  readonly lines: readonly string[];
  readonly levels: readonly LogLevel[];
  /** The number of the first line that is kept: a name for it that stays. */
  readonly first: number;
};

const MOST = 5000;

export function joined(before: Tail | null, log: Pick<Log, "lines" | "levels">, most = MOST): Tail {
  if (before !== null && log.lines.length === 0) return before;
  const lines = [...(before?.lines ?? []), ...log.lines];
  const levels = [...(before?.levels ?? []), ...log.levels];
  const over = Math.max(0, lines.length - most);
  return { lines: lines.slice(over), levels: levels.slice(over), first: (before?.first ?? 0) + over };
}
