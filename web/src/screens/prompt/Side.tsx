/** What stands beside the text: the budget by toolset, what is known of the model, and the same in Python. */
import type { ReactElement } from "react";
import { count, number } from "@/lib/words";
import { Code, CopyButton, StackedBar, Tag, type Tone } from "@/parts";
import type { Prompt } from "./shapes";

const TONES: readonly Tone[] = ["plot-1", "plot-2", "plot-3", "plot-4", "plot-5", "plot-6"];

export function Side({ told }: { told: Prompt }): ReactElement {
  return (
    <aside className="prompt-side" aria-label="Budget and model">
      <Budget told={told} />
      <Model told={told} />
      <section className="sheet" aria-label="As Python">
        <div className="row apart">
          <h2>As Python</h2>
          <CopyButton text={told.asPython} />
        </div>
        <Code text={told.asPython} copies={false} />
        <p className="quiet small">Within <code>async with open_board(…) as board</code>.</p>
      </section>
    </aside>
  );
}

function Budget({ told }: { told: Prompt }): ReactElement {
  const tools = told.byToolset.reduce((sum, share) => sum + share.tokens, 0);
  const shares = told.byToolset.map((share, at) => ({
    id: share.toolset,
    label: `${share.toolset} (${count(share.tools, "tool")})`,
    value: share.tokens,
    tone: TONES[at % TONES.length] ?? "plot-1",
  }));
  return (
    <section className="sheet" aria-label="Budget">
      <div className="row apart">
        <h2>Budget</h2>
        <span>
          <b className="prompt-big">{number(told.tokens)}</b> <span className="quiet">of {count(told.budget, "token")}</span>
        </span>
      </div>
      <StackedBar
        name="Budget by toolset"
        total={told.budget}
        parts={[...shares, { id: "words", label: "everything else", value: Math.max(told.tokens - tools, 0), tone: "locked" }]}
      />
    </section>
  );
}

function Model({ told }: { told: Prompt }): ReactElement {
  return (
    <section className="sheet" aria-label="Model">
      <div className="row apart prompt-model">
        <h2>
          <span className="mono">{told.model.name}</span>
        </h2>
        <Tag>{told.primary ?? "no tools"}</Tag>
      </div>
      <ul className="dotted">
        {told.model.whence.map((each) => (
          <li key={each}>{each}</li>
        ))}
      </ul>
      <details>
        <summary>Formats</summary>
        <Rulings of={told.formats} />
      </details>
      <details>
        <summary>Built-ins</summary>
        <Rulings of={told.builtins} />
      </details>
      {told.search.length > 0 && (
        <details>
          <summary>Tools found for the query</summary>
          <ul className="dotted small">
            {told.search.map((each) => (
              <li key={each} className="wrap-any">
                {each}
              </li>
            ))}
          </ul>
        </details>
      )}
    </section>
  );
}

function Rulings({ of }: { of: Prompt["formats"] }): ReactElement {
  return (
    <ul className="prompt-rulings small">
      {of.map((each) => (
        <li key={each.subject}>
          <span className="mono">{each.subject}</span> <Tag tone={each.place === "in" ? "open" : "locked"}>{each.place}</Tag>
          <span className="quiet"> {each.why}</span>
        </li>
      ))}
    </ul>
  );
}
