/** Beside the prompt: the budget by toolset, facts about the model, and the same in Python. */
import type { ReactElement } from "react";
import { formatCount, formatNumber } from "@/lib/format";
import { Code, CopyButton, StackedBar, Tag, type Tone } from "@/components";
import type { Prompt } from "./types";

const SHARE_TONES: readonly Tone[] = ["plot-1", "plot-2", "plot-3", "plot-4", "plot-5", "plot-6"];

export function PromptSidebar({ prompt }: { prompt: Prompt }): ReactElement {
  return (
    <aside className="prompt-side" aria-label="Budget and model">
      <Budget prompt={prompt} />
      <Model prompt={prompt} />
      <section className="sheet" aria-label="As Python">
        <div className="row apart">
          <h2>As Python</h2>
          <CopyButton text={prompt.pythonExample} />
        </div>
        <Code text={prompt.pythonExample} copyable={false} />
        <p className="muted small">Within <code>async with open_board(…) as board</code>.</p>
      </section>
    </aside>
  );
}

function Budget({ prompt }: { prompt: Prompt }): ReactElement {
  const tools = prompt.byToolset.reduce((sum, toolset) => sum + toolset.tokens, 0);
  const parts = prompt.byToolset.map((toolset, index) => ({
    id: toolset.toolset,
    label: `${toolset.toolset} (${formatCount(toolset.tools, "tool")})`,
    value: toolset.tokens,
    tone: SHARE_TONES[index % SHARE_TONES.length] ?? "plot-1",
  }));
  return (
    <section className="sheet" aria-label="Budget">
      <div className="row apart">
        <h2>Budget</h2>
        <span>
          <b className="prompt-big">{formatNumber(prompt.tokens)}</b> <span className="muted">of {formatCount(prompt.budget, "token")}</span>
        </span>
      </div>
      <StackedBar
        name="Budget by toolset"
        total={prompt.budget}
        parts={[...parts, { id: "words", label: "everything else", value: Math.max(prompt.tokens - tools, 0), tone: "locked" }]}
      />
    </section>
  );
}

function Model({ prompt }: { prompt: Prompt }): ReactElement {
  return (
    <section className="sheet" aria-label="Model">
      <div className="row apart prompt-model">
        <h2>
          <span className="mono">{prompt.model.name}</span>
        </h2>
        <Tag>{prompt.primary ?? "no tools"}</Tag>
      </div>
      <ul className="dotted">
        {prompt.model.factSources.map((source) => (
          <li key={source}>{source}</li>
        ))}
      </ul>
      <details>
        <summary>Formats</summary>
        <RulingList rulings={prompt.formats} />
      </details>
      <details>
        <summary>Built-ins</summary>
        <RulingList rulings={prompt.builtins} />
      </details>
      {prompt.search.length > 0 && (
        <details>
          <summary>Tools found for the query</summary>
          <ul className="dotted small">
            {prompt.search.map((source) => (
              <li key={source} className="wrap-any">
                {source}
              </li>
            ))}
          </ul>
        </details>
      )}
    </section>
  );
}

function RulingList({ rulings }: { rulings: Prompt["formats"] }): ReactElement {
  return (
    <ul className="prompt-ruling-list small">
      {rulings.map((ruling) => (
        <li key={ruling.subject}>
          <span className="mono">{ruling.subject}</span> <Tag tone={ruling.availability === "in" ? "open" : "locked"}>{ruling.availability}</Tag>
          <span className="muted"> {ruling.reason}</span>
        </li>
      ))}
    </ul>
  );
}
