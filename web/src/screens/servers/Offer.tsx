/** What a server would bring, in its own words, and what the scanner says of them. */
import type { ReactElement } from "react";
import type { Flaw, Reviewed, TriedTool } from "@/api/servers";
import { count, number } from "@/lib/words";
import { Plain, Tag } from "@/parts";

type Offered = Reviewed["tools"][number] | TriedTool;

export function Offer({ tools, flaws, lines }: { tools: readonly Offered[]; flaws: readonly Flaw[]; lines: readonly string[] }): ReactElement {
  return (
    <div className="stack">
      {tools.length > 0 && (
        <ul className="offer" aria-label="Tools it would bring">
          {tools.map((tool) => (
            <li key={tool.name}>
              <OfferedTool tool={tool} />
            </li>
          ))}
        </ul>
      )}
      {flaws.length > 0 && (
        <ul className="dotted small">
          {flaws.map((flaw) => (
            <li key={flaw.name} className="wrap-any">
              It {flaw.sentence}
            </li>
          ))}
        </ul>
      )}
      {lines.length > 0 && (
        <figure>
          <figcaption className="small quiet">The last lines it wrote</figcaption>
          <pre className="code wraps last-lines" tabIndex={0}>
            {lines.join("\n")}
          </pre>
        </figure>
      )}
    </div>
  );
}

function OfferedTool({ tool }: { tool: Offered }): ReactElement {
  const claims = "hints" in tool ? tool.hints : null;
  return (
    <details className="offered">
      <summary>
        <span className="mono strong wrap-any">{tool.name}</span>
        {claims?.readOnly === true && <Tag title="So it claims">reads only</Tag>}
        {claims?.readOnly === false && claims.destructive && <Tag title="So it claims, or does not say">may destroy</Tag>}
        {tool.notes.length > 0 && <Tag tone="wants">{tool.risk.hard > 0 ? "looks poisoned" : count(tool.notes.length, "finding")}</Tag>}
        {"tokens" in tool && <span className="quiet small offered-tokens">{number(tool.tokens)} tokens</span>}
      </summary>
      <div className="stack offered-more">
        <p className="prewrap wrap-any">{tool.description === "" ? <span className="quiet">It has no description.</span> : <Plain text={tool.description} />}</p>
        {tool.notes.map((note) => (
          <p key={`${note.path} ${note.sentence}`} className="small wrap-any">
            <b>{note.severity === "hard" ? "Looks poisoned" : "Look closely"}:</b> <Plain text={note.sentence} /> <span className="mono quiet">{note.path}</span>
          </p>
        ))}
        {tool.cautions.map((caution) => (
          <p key={caution} className="small wrap-any">
            <Plain text={caution} />
          </p>
        ))}
        {tool.parameters.length > 0 && (
          <dl className="pairs">
            {tool.parameters.map((each) => (
              <div key={each.name}>
                <dt className="mono wrap-any">
                  {each.name}
                  {each.required ? "" : "?"}
                </dt>
                <dd className="wrap-any small">{each.description ? <Plain text={each.description} /> : <span className="mono quiet">{each.schema}</span>}</dd>
              </div>
            ))}
          </dl>
        )}
      </div>
    </details>
  );
}
