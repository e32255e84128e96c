/** The exact text of a prompt in blocks. Opening a block shows why it is there and what it costs. */
import { useState, type ReactElement } from "react";
import { formatCount, formatNumber } from "@/lib/format";
import { EmptyState, Icon, Link, Tag } from "@/components";
import type { PromptPart, Prompt } from "./types";

export function PromptBlocks({ prompt }: { prompt: Prompt }): ReactElement {
  const [open, setOpen] = useState<number | null>(0);
  const parts = prompt.parts.map((part, index) => ({ part, index }));
  const renderBlock = ({ part, index }: { part: PromptPart; index: number }): ReactElement => (
    <PromptBlock key={`${index} ${part.kind}`} part={part} prompt={prompt} open={open === index} onToggle={() => setOpen(open === index ? null : index)} />
  );
  const requestTools = parts.filter(({ part }) => part.inToolsArray);
  return (
    <div className="stack">
      <section className="prompt-blocks" aria-label="The system message">
        <h2>The system message</h2>
        {prompt.parts.length === requestTools.length ? <p className="muted">It is empty.</p> : parts.filter(({ part }) => !part.inToolsArray).map(renderBlock)}
      </section>
      {requestTools.length > 0 && (
        <section className="prompt-blocks" aria-label="Beside it, as tools of the request">
          <h2>Beside it, as tools of the request</h2>
          {requestTools.map(renderBlock)}
        </section>
      )}
      <OmittedTools prompt={prompt} />
    </div>
  );
}

function PromptBlock({ part, prompt, open, onToggle }: { part: PromptPart; prompt: Prompt; open: boolean; onToggle: () => void }): ReactElement {
  return (
    <article className={`prompt-block ${open ? "is-open" : ""}`}>
      <button type="button" className="prompt-block-head" aria-expanded={open} onClick={onToggle}>
        <Icon name={open ? "down" : "right"} />
        <b>{part.kind}</b>
        <span className="prompt-cost">{formatCount(part.tokens, "token")}</span>
      </button>
      {open && (
        <div className="prompt-why">
          <p>
            It is here because {part.reason}. It costs {formatCount(part.tokens, "token")}, of {formatNumber(prompt.tokens)} in all.
          </p>
          {part.kind === "tools" && <OfferedTools prompt={prompt} />}
        </div>
      )}
      <pre className="prompt-text" tabIndex={0} aria-label={`Text of ${part.kind}`}>
        {part.text}
      </pre>
    </article>
  );
}

function OfferedTools({ prompt }: { prompt: Prompt }): ReactElement {
  return (
    <ul className="prompt-tools">
      {prompt.tools.map((tool) => (
        <li key={tool.name}>
          {tool.id === null ? (
            <span className="mono">{tool.name}</span>
          ) : (
            <Link to="/tool" query={{ id: tool.id }} className="mono wrap-any">
              {tool.name}
            </Link>
          )}
          <span className="muted small grow">{tool.reason}</span>
          <span className="muted small">{formatCount(tool.tokens, "token")}</span>
        </li>
      ))}
    </ul>
  );
}

function OmittedTools({ prompt }: { prompt: Prompt }): ReactElement {
  return (
    <section className="prompt-blocks" aria-label="Not in the prompt">
      <h2>Not in the prompt</h2>
      {prompt.excluded.length === 0 ? (
        <EmptyState icon="check" title="Nothing was left out" />
      ) : (
        <ul className="prompt-omitted" tabIndex={0} aria-label="What is not in the prompt, and why">
          {prompt.excluded.map((omitted) => (
            <li key={omitted.subject}>
              <del className="mono wrap-any">{omitted.subject}</del> {omitted.availability !== "out" && <Tag tone="locked">{omitted.availability}</Tag>}
              <p className="muted small wrap-any">{omitted.reason}</p>
            </li>
          ))}
        </ul>
      )}
      {prompt.excludedCount > prompt.excluded.length && <p className="muted small">And {formatNumber(prompt.excludedCount - prompt.excluded.length)} more.</p>}
    </section>
  );
}
