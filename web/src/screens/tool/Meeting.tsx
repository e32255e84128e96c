/** What somebody else saved under a draft, field by field: taken where the draft left it alone, chosen where both wrote. */
import { useState, type ReactElement } from "react";
import { Button, Notice } from "@/parts";
import type { Moved } from "./meeting";

export function Meeting({ others, onMet }: { others: readonly Moved[]; onMet: (kept: ReadonlySet<string>) => void }): ReactElement {
  const [chosen, choose] = useState<ReadonlyMap<string, "mine" | "theirs">>(new Map());
  // Of what it says, not of the field: who changes it once more is told once more.
  const key = (each: Moved): string => `${each.field} ${each.is}`;
  const open = others.filter((each) => each.mine !== null && !chosen.has(key(each)));
  const by = [...new Set(others.flatMap((each) => (each.by === null ? [] : [each.by])))];
  return (
    <section aria-label="Changed by somebody else" aria-live="polite">
      <Notice tone="wants">
        <div className="stack">
          <p>
            <b>{by.length === 1 ? by[0] : "Somebody else"} changed this override while you were writing.</b> Your draft is as you left it, and nothing of it is saved yet.
          </p>
          <ul className="stack">
            {others.map((each) => (
              <li key={each.field} className="stack tight moved">
                <p className="wrap-any">
                  <b>{each.label}</b>: {each.was} <span aria-hidden="true">→</span>
                  <span className="unseen"> is now </span> {each.is}
                  {each.mine === null ? " (yours says nothing else, so it is taken)" : <>; yours: {each.mine}</>}
                </p>
                {each.mine !== null && (
                  <div className="segments" role="group" aria-label={`Whose ${each.label}`}>
                    {(["mine", "theirs"] as const).map((whose) => (
                      <button key={whose} type="button" aria-pressed={chosen.get(key(each)) === whose} onClick={() => choose(new Map(chosen).set(key(each), whose))}>
                        {whose === "mine" ? "Keep mine" : "Take theirs"}
                      </button>
                    ))}
                  </div>
                )}
              </li>
            ))}
          </ul>
          <div className="row">
            <Button
              look="main"
              disabled={open.length > 0}
              onClick={() => onMet(new Set(others.filter((each) => chosen.get(key(each)) === "mine").map((each) => each.field)))}
            >
              Go on with this
            </Button>
          </div>
        </div>
      </Notice>
    </section>
  );
}
