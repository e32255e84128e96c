/** The exact text of a prompt, block by block. A click on a block says why it is there and what it costs. */
import { useState, type ReactElement } from "react";
import { count, number } from "@/lib/words";
import { EmptyState, Icon, Link, Tag } from "@/parts";
import type { Part, Prompt } from "./shapes";

export function Blocks({ told }: { told: Prompt }): ReactElement {
  const [open, setOpen] = useState<number | null>(0);
  const within = told.parts.map((part, at) => ({ part, at }));
  const show = ({ part, at }: { part: Part; at: number }): ReactElement => (
    <Block key={`${at} ${part.kind}`} part={part} told={told} open={open === at} onOpen={() => setOpen(open === at ? null : at)} />
  );
  const beside = within.filter(({ part }) => part.beside);
  return (
    <div className="stack">
      <section className="prompt-blocks" aria-label="The system message">
        <h2>The system message</h2>
        {told.parts.length === beside.length ? <p className="quiet">It is empty.</p> : within.filter(({ part }) => !part.beside).map(show)}
      </section>
      {beside.length > 0 && (
        <section className="prompt-blocks" aria-label="Beside it, as tools of the request">
          <h2>Beside it, as tools of the request</h2>
          {beside.map(show)}
        </section>
      )}
      <Struck told={told} />
    </div>
  );
}

function Block({ part, told, open, onOpen }: { part: Part; told: Prompt; open: boolean; onOpen: () => void }): ReactElement {
  return (
    <article className={`prompt-block ${open ? "is-open" : ""}`}>
      <button type="button" className="prompt-block-head" aria-expanded={open} onClick={onOpen}>
        <Icon name={open ? "down" : "right"} />
        <b>{part.kind}</b>
        <span className="prompt-cost">{count(part.tokens, "token")}</span>
      </button>
      {open && (
        <div className="prompt-why">
          <p>
            It is here because {part.why}. It costs {count(part.tokens, "token")}, of {number(told.tokens)} in all.
          </p>
          {part.kind === "tools" && <Offered told={told} />}
        </div>
      )}
      <pre className="prompt-text" tabIndex={0} aria-label={`Text of ${part.kind}`}>
        {part.text}
      </pre>
    </article>
  );
}

function Offered({ told }: { told: Prompt }): ReactElement {
  return (
    <ul className="prompt-tools">
      {told.tools.map((tool) => (
        <li key={tool.name}>
          {tool.id === null ? (
            <span className="mono">{tool.name}</span>
          ) : (
            <Link to="/tool" query={{ id: tool.id }} className="mono wrap-any">
              {tool.name}
            </Link>
          )}
          <span className="quiet small grow">{tool.why}</span>
          <span className="quiet small">{count(tool.tokens, "token")}</span>
        </li>
      ))}
    </ul>
  );
}

function Struck({ told }: { told: Prompt }): ReactElement {
  return (
    <section className="prompt-blocks" aria-label="Not in the prompt">
      <h2>Not in the prompt</h2>
      {told.struck.length === 0 ? (
        <EmptyState icon="check" title="Nothing was left out" />
      ) : (
        <ul className="prompt-struck" tabIndex={0} aria-label="What is not in the prompt, and why">
          {told.struck.map((each) => (
            <li key={each.subject}>
              <del className="mono wrap-any">{each.subject}</del> {each.place !== "out" && <Tag tone="locked">{each.place}</Tag>}
              <p className="quiet small wrap-any">{each.why}</p>
            </li>
          ))}
        </ul>
      )}
      {told.struckCount > told.struck.length && <p className="quiet small">And {number(told.struckCount - told.struck.length)} more.</p>}
    </section>
  );
}
