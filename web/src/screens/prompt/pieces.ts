/** An answer cut at its spans, for the page. The gateway counts characters, a browser halves some of them. */
import type { ParsedAnswer } from "./shapes";

export type Piece = { readonly kind: string; readonly text: string; readonly why: string; readonly calls: readonly number[] };

export function pieces(text: string, spans: ParsedAnswer["spans"]): readonly Piece[] {
  const letters = Array.from(text);
  const found: { kind: string; text: string; why: string; calls: number[] }[] = [];
  let at = 0;
  for (const span of spans) {
    const last = found.at(-1);
    // Several calls may have one piece in common.
    if (span.end <= at && last !== undefined) {
      if (span.call !== null) last.calls.push(span.call);
      continue;
    }
    found.push({
      kind: span.kind,
      text: letters.slice(Math.max(span.start, at), span.end).join(""),
      why: span.why,
      calls: span.call === null ? [] : [span.call],
    });
    at = span.end;
  }
  return found;
}
