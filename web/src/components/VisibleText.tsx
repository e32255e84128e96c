/** Text from outside: a character that is invisible or changes the text direction is shown by its code point. */
import type { ReactElement } from "react";
import { textRuns } from "@/lib/visible-text";

export function VisibleText({ text, strict = false }: { text: string; strict?: boolean }): ReactElement {
  const runs = textRuns(text, strict);
  const first = runs[0];
  if (runs.length === 1 && first !== undefined && !first.hidden) return <bdi>{text}</bdi>;
  return (
    <bdi>
      {runs.map((run, index) =>
        run.hidden ? (
          <span key={index} className="invisible-character" title="A character that cannot be seen">
            {run.text}
          </span>
        ) : (
          <span key={index}>{run.text}</span>
        ),
      )}
    </bdi>
  );
}
