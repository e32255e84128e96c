/** Every rule in order with its result: the trail of the decision that applies to calls. */
import type { ReactElement } from "react";
import { useApiQuery } from "@/api/queries";
import type { Query } from "@/lib/router";
import { QueryResult, Icon, Notice, Skeleton } from "@/components";
import { RevokeButtons } from "@/screens/approvals/Consents";
import { originText, type OverrideEntry, type WhyResponse } from "./types";

/** The step that names consents, each with a button to revoke it. */
const CONFIRMATION_STEP = "Does it run without confirmation?";

export function WhyTrail({ id, view }: { id: string; view: Query }): ReactElement {
  const response = useApiQuery<WhyResponse>(["board", "policy"], "/why", { tool: id, ...view });
  return (
    <QueryResult query={response} placeholder={<Skeleton lines={12} height={36} />}>
      {(why) => (
        <div className="stack">
          <ol className="trail" aria-label="Rules, in the order in which they are asked">
            {why.steps.map((step) => (
              <li key={step.question} className={step.passes ? "is-passed" : "is-blocking"}>
                <span className="trail-mark" aria-hidden="true">
                  <Icon name={step.passes ? "check" : "close"} size={14} />
                </span>
                <div className="grow">
                  <span className="trail-question">{step.question}</span>{" "}
                  <span className={step.passes ? "muted wrap-any" : "wrap-any"}>{step.answer}</span>
                  {step.question === CONFIRMATION_STEP && <RevokeButtons tool={id} />}
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
          {why.nameNotes.length > 0 && (
            <section>
              <h2>Its name</h2>
              <ul className="dotted muted">
                {why.nameNotes.map((each) => (
                  <li key={each}>{each}</li>
                ))}
              </ul>
            </section>
          )}
          {why.overrides.length > 0 && <OverrideList overrides={why.overrides} />}
        </div>
      )}
    </QueryResult>
  );
}

function OverrideList({ overrides }: { overrides: readonly OverrideEntry[] }): ReactElement {
  return (
    <section className="stack tight">
      <h2>Overrides that hold for it</h2>
      <dl className="facts">
        {overrides.map((entry) => (
          <div key={`${entry.field} ${entry.target}`}>
            <dt className="mono">{entry.field}</dt>
            <dd>
              <code className="wrap-any">{typeof entry.value === "string" ? entry.value : JSON.stringify(entry.value)}</code>{" "}
              <span className="muted small">
                said by {originText(entry)} for <code>{entry.target}</code>
                {entry.effect !== null && `: ${entry.effect}`}
              </span>
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
