/** How an outcome is shown: its word, and one of the five marks. */
import type { PegState } from "@/api/types";

const MARKS: Readonly<Record<string, PegState>> = {
  returned: "open",
  done: "open",
  tool_failed: "broken",
  provider_failed: "broken",
  broken: "broken",
  not_saved: "broken",
  server_error: "broken",
  override_unfit: "broken",
  needs_input: "wants",
  demanded: "wants",
  waits: "wants",
  pending_approval: "wants",
  changed: "wants",
  quarantined: "wants",
  needs_sign_in: "wants",
};

/** "tool_failed" as "tool failed". */
export function outcomeWord(outcome: string): string {
  return outcome.replaceAll("_", " ");
}

/** Whatever is not named is a refusal or a decision that was turned down: by choice. */
export function markOf(outcome: string): PegState {
  return MARKS[outcome] ?? "locked";
}

/** A text as it was recorded: as JSON where it is whole, else to the letter, because long ones are cut. */
export function recorded(text: string): { readonly json: unknown } | { readonly text: string } {
  try {
    return { json: JSON.parse(text) as unknown };
  } catch {
    return { text };
  }
}

/** When a bucket begins: the time within a day, the day and the time within more. */
export function bucketLabel(at: string | null, seconds: number): string {
  if (at === null) return "–";
  const moment = new Date(at);
  const time = moment.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
  if (seconds * 60 <= 86_400) return time;
  return `${moment.toLocaleDateString("en", { month: "short", day: "numeric" })} ${time}`;
}
