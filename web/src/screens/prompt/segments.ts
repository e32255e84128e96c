/** Splits a model's answer at its spans. The gateway counts code points; JavaScript strings count UTF-16 units. */
import type { ParsedAnswer } from "./types";

export type Segment = { readonly kind: string; readonly text: string; readonly reason: string; readonly calls: readonly number[] };

export function splitBySpans(text: string, spans: ParsedAnswer["spans"]): readonly Segment[] {
  const characters = Array.from(text);
  const segments: { kind: string; text: string; reason: string; calls: number[] }[] = [];
  let position = 0;
  for (const span of spans) {
    const last = segments.at(-1);
    // Several calls may share one segment.
    if (span.end <= position && last !== undefined) {
      if (span.call !== null) last.calls.push(span.call);
      continue;
    }
    segments.push({
      kind: span.kind,
      text: characters.slice(Math.max(span.start, position), span.end).join(""),
      reason: span.reason,
      calls: span.call === null ? [] : [span.call],
    });
    position = span.end;
  }
  return segments;
}
