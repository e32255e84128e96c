/** Somebody else's words as they are: what could not be seen, or would turn the others round, is shown by its name. */
import type { ReactElement } from "react";
import { textRuns } from "@/lib/visible-text";

export function VisibleText({ text, strict = false }: { text: string; strict?: boolean }): ReactElement {
  const runs = textRuns(text, strict);
  const first = runs[0];
  if (runs.length === 1 && first !== undefined && !first.hidden) return <bdi>{text}</bdi>;
  return (
    <bdi>
      {runs.map((run, at) =>
        run.hidden ? (
          <span key={at} className="hidden-letter" title="A character that cannot be seen">
            {run.text}
          </span>
        ) : (
          <span key={at}>{run.text}</span>
        ),
      )}
    </bdi>
  );
}
