/** How outcomes and what was recorded are put in words. Which of the five marks one has is said by the gateway. */
/** "tool_failed" as "tool failed". */
export function formatOutcome(outcome: string): string {
  return outcome.replaceAll("_", " ");
}

/** A text as it was recorded: as JSON where it is whole, else to the letter, because long ones are cut. */
export function parseRecorded(text: string): { readonly json: unknown } | { readonly text: string } {
  try {
    return { json: JSON.parse(text) as unknown };
  } catch {
    return { text };
  }
}

/** When a bucket begins: the time within a day, the day and the time within more. */
export function bucketLabel(at: string | null, seconds: number): string {
  if (at === null) return "–";
  const date = new Date(at);
  const time = date.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
  if (seconds * 60 <= 86_400) return time;
  return `${date.toLocaleDateString("en", { month: "short", day: "numeric" })} ${time}`;
}
