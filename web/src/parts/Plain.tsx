/** Somebody else's words as they are: what could not be seen, or would turn the others round, is shown by its name. */
import type { ReactElement } from "react";
import { runs } from "@/lib/plain";

export function Plain({ text, strict = false }: { text: string; strict?: boolean }): ReactElement {
  const found = runs(text, strict);
  const first = found[0];
  if (found.length === 1 && first !== undefined && !first.hidden) return <bdi>{text}</bdi>;
  return (
    <bdi>
      {found.map((run, at) =>
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
