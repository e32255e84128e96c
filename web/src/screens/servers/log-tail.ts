/** Appends log lines and drops the oldest. */
import type { Log, LogLevel } from "@/api/servers";

export type LogLines = {
  readonly lines: readonly string[];
  readonly levels: readonly LogLevel[];
  /** The number of the first line that is kept: a stable key. */
  readonly first: number;
};

const MAX_LINES = 5000;

export function appendLog(previous: LogLines | null, log: Pick<Log, "lines" | "levels">, maxLines = MAX_LINES): LogLines {
  if (previous !== null && log.lines.length === 0) return previous;
  const lines = [...(previous?.lines ?? []), ...log.lines];
  const levels = [...(previous?.levels ?? []), ...log.levels];
  const dropped = Math.max(0, lines.length - maxLines);
  return { lines: lines.slice(dropped), levels: levels.slice(dropped), first: (previous?.first ?? 0) + dropped };
}
