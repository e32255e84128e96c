/** Changes that someone else saved under a draft, field by field: taken if the draft did not touch the field, else
 * chosen. */
import { useState, type ReactElement } from "react";
import { Button, Notice } from "@/components";
import type { FieldConflict } from "./edit-conflict";

export function EditConflict({ conflicts, onResolve }: { conflicts: readonly FieldConflict[]; onResolve: (keptFields: ReadonlySet<string>) => void }): ReactElement {
  const [choices, setChoices] = useState<ReadonlyMap<string, "mine" | "theirs">>(new Map());
  // By value and not only by field: a further change by the other person needs another choice.
  const key = (conflict: FieldConflict): string => `${conflict.field} ${conflict.after}`;
  const unresolved = conflicts.filter((conflict) => conflict.mine !== null && !choices.has(key(conflict)));
  const authors = [...new Set(conflicts.flatMap((conflict) => (conflict.by === null ? [] : [conflict.by])))];
  return (
    <section aria-label="Changed by somebody else" aria-live="polite">
      <Notice tone="needs_action">
        <div className="stack">
          <p>
            <b>{authors.length === 1 ? authors[0] : "Somebody else"} changed this override while you were writing.</b> Your draft is as you left it, and nothing of it is saved yet.
          </p>
          <ul className="stack">
            {conflicts.map((conflict) => (
              <li key={conflict.field} className="stack tight edit-conflict-field">
                <p className="wrap-any">
                  <b>{conflict.label}</b>: {conflict.before} <span aria-hidden="true">→</span>
                  <span className="visually-hidden"> is now </span> {conflict.after}
                  {conflict.mine === null ? " (yours says nothing else, so it is taken)" : <>; yours: {conflict.mine}</>}
                </p>
                {conflict.mine !== null && (
                  <div className="segments" role="group" aria-label={`Whose ${conflict.label}`}>
                    {(["mine", "theirs"] as const).map((side) => (
                      <button key={side} type="button" aria-pressed={choices.get(key(conflict)) === side} onClick={() => setChoices(new Map(choices).set(key(conflict), side))}>
                        {side === "mine" ? "Keep mine" : "Take theirs"}
                      </button>
                    ))}
                  </div>
                )}
              </li>
            ))}
          </ul>
          <div className="row">
            <Button
              variant="primary"
              disabled={unresolved.length > 0}
              onClick={() => onResolve(new Set(conflicts.filter((conflict) => choices.get(key(conflict)) === "mine").map((conflict) => conflict.field)))}
            >
              Go on with this
            </Button>
          </div>
        </div>
      </Notice>
    </section>
  );
}
