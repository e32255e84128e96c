/** Every rule in order, and what it said: the trail of the same decision that holds for calls. */
import type { ReactElement } from "react";
import { useAnswer } from "@/api/answers";
import type { Query } from "@/lib/place";
import { Answered, Icon, Notice, Skeleton } from "@/parts";
import { RevokeButtons } from "@/screens/approvals/Permissions";
import { originWords, type Said, type Why as Told } from "./told";

/** The step that names standing permissions, each with a way to revoke it. */
const CONFIRMATION = "Does it run without confirmation?";

export function Why({ id, view }: { id: string; view: Query }): ReactElement {
  const answer = useAnswer<Told>(["board", "policy"], "/why", { tool: id, ...view });
  return (
    <Answered of={answer} waiting={<Skeleton lines={12} height={36} />}>
      {(why) => (
        <div className="stack">
          <ol className="trail" aria-label="Rules, in the order in which they are asked">
            {why.steps.map((step) => (
              <li key={step.asked} className={step.lets ? "is-silent" : "is-locking"}>
                <span className="trail-mark" aria-hidden="true">
                  <Icon name={step.lets ? "check" : "close"} size={14} />
                </span>
                <div className="grow">
                  <span className="trail-asked">{step.asked}</span>{" "}
                  <span className={step.lets ? "quiet wrap-any" : "wrap-any"}>{step.said}</span>
                  {step.asked === CONFIRMATION && <RevokeButtons tool={id} />}
                </div>
              </li>
            ))}
          </ol>
          {why.unknownNames.length > 0 && (
            <Notice tone="broken">
              {why.unknownNames.map((each) => (
                <p key={each} className="wrap-any">{each}</p>
              ))}
            </Notice>
          )}
          {why.naming.length > 0 && (
            <section>
              <h2>Its name</h2>
              <ul className="dotted quiet">
                {why.naming.map((each) => (
                  <li key={each}>{each}</li>
                ))}
              </ul>
            </section>
          )}
          {why.overrides.length > 0 && <Overrides said={why.overrides} />}
        </div>
      )}
    </Answered>
  );
}

function Overrides({ said }: { said: readonly Said[] }): ReactElement {
  return (
    <section className="stack tight">
      <h2>Overrides that hold for it</h2>
      <dl className="facts">
        {said.map((each) => (
          <div key={`${each.field} ${each.target}`}>
            <dt className="mono">{each.field}</dt>
            <dd>
              <code className="wrap-any">{typeof each.value === "string" ? each.value : JSON.stringify(each.value)}</code>{" "}
              <span className="quiet small">
                said by {originWords(each)} for <code>{each.target}</code>
                {each.effect !== null && `: ${each.effect}`}
              </span>
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
