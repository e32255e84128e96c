import { expect, test } from "vitest";
import { formatRelativeTime, formatBytes, shellCommand, formatCount, formatList, formatNumber, formatDuration, formatElapsedTime } from "./format";

test('numbers are grouped, and zero is "no"', () => {
  expect([formatNumber(6200), formatCount(0, "tool"), formatCount(1, "tool"), formatCount(41, "tool")]).toEqual(["6,200", "no tools", "1 tool", "41 tools"]);
});

test("a duration has the unit a person would choose", () => {
  expect([0.42, 12.4, 1340, 125_000, 7_260_000].map(formatDuration)).toEqual(["0.4 ms", "12 ms", "1.3 s", "2 min 5 s", "2 h 1 min"]);
});

test("bytes are counted in thousands", () => {
  expect([512, 1200, 34_000, 3_400_000].map(formatBytes)).toEqual(["512 B", "1.2 KB", "34 KB", "3.4 MB"]);
});

test("past and future times are relative to now", () => {
  const now = Date.parse("2026-03-01T12:00:00Z");
  const secondsAgo = (seconds: number): string => formatRelativeTime(now + seconds * 1000, now);
  expect([secondsAgo(-1), secondsAgo(-12), secondsAgo(-300), secondsAgo(-7200), secondsAgo(-3 * 86_400), secondsAgo(300), secondsAgo(2)]).toEqual([
    "just now",
    "12 s ago",
    "5 min ago",
    "2 h ago",
    "3 d ago",
    "in 5 min",
    "at once",
  ]);
  expect(formatRelativeTime("never was", now)).toBe("never was");
});

test("a list ends with and", () => {
  expect([formatList([]), formatList(["a"]), formatList(["a", "b"]), formatList(["a", "b", "c"])]).toEqual(["", "a", "a and b", "a, b and c"]);
});

test("a command line quotes what a shell would interpret", () => {
  expect(shellCommand("pegboard", "why", "mcp:dev~github:delete_repo", "--as", "it's me", false, undefined, "")).toBe(
    `pegboard why mcp:dev~github:delete_repo --as 'it'\\''s me'`,
  );
});

test('an elapsed time has no "ago"', () => {
  const now = Date.parse("2026-03-01T12:00:00Z");
  expect([0, 12, 300, 8 * 86_400].map((seconds) => formatElapsedTime(now - seconds * 1000, now))).toEqual([
    "for a moment",
    "for 12 s",
    "for 5 min",
    "since Feb 21, 2026",
  ]);
});
