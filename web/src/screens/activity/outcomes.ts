/** Formats outcomes and recorded texts. The state of an outcome comes from the gateway. */
/** "tool_failed" as "tool failed". */
export function formatOutcome(outcome: string): string {
  return outcome.replaceAll("_", " ");
}

/** Parses a recorded text as JSON if it is complete. Long ones are truncated and stay text. */
export function parseRecorded(text: string): { readonly json: unknown } | { readonly text: string } {
  try {
    return { json: JSON.parse(text) as unknown };
  } catch {
    return { text };
  }
}

/** The label of a bucket: the time, with the day if the range is longer than a day. */
export function bucketLabel(at: string | null, seconds: number): string {
  if (at === null) return "–";
  const date = new Date(at);
  const time = date.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
  if (seconds * 60 <= 86_400) return time;
  return `${date.toLocaleDateString("en", { month: "short", day: "numeric" })} ${time}`;
}
