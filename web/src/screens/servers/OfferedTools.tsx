/** The tools a server would add, with their descriptions and the scanner's findings. */
import type { ReactElement } from "react";
import type { ListingProblem, ServerReview, ServerTrialTool } from "@/api/servers";
import { formatCount, formatNumber } from "@/lib/format";
import { VisibleText, Tag } from "@/components";

type OfferedToolData = ServerReview["tools"][number] | ServerTrialTool;

export function OfferedTools({ tools, problems, logLines }: { tools: readonly OfferedToolData[]; problems: readonly ListingProblem[]; logLines: readonly string[] }): ReactElement {
  return (
    <div className="stack">
      {tools.length > 0 && (
        <ul className="offered-tools" aria-label="Tools it would bring">
          {tools.map((tool) => (
            <li key={tool.name}>
              <OfferedTool tool={tool} />
            </li>
          ))}
        </ul>
      )}
      {problems.length > 0 && (
        <ul className="dotted small">
          {problems.map((problem) => (
            <li key={problem.name} className="wrap-any">
              It {problem.message}
            </li>
          ))}
        </ul>
      )}
      {logLines.length > 0 && (
        <figure>
          <figcaption className="small muted">The last lines it wrote</figcaption>
          <pre className="code wraps last-lines" tabIndex={0}>
            {logLines.join("\n")}
          </pre>
        </figure>
      )}
    </div>
  );
}

function OfferedTool({ tool }: { tool: OfferedToolData }): ReactElement {
  const claims = "hints" in tool ? tool.hints : null;
  return (
    <details className="offered-tool">
      <summary>
        <span className="mono strong wrap-any">{tool.name}</span>
        {claims?.readOnly === true && <Tag title="So it claims">reads only</Tag>}
        {claims?.readOnly === false && claims.destructive && <Tag title="So it claims, or does not say">may destroy</Tag>}
        {tool.findings.length > 0 && <Tag tone="needs_action">{tool.risk.hard > 0 ? "looks poisoned" : formatCount(tool.findings.length, "finding")}</Tag>}
        {"tokens" in tool && <span className="muted small offered-tool-tokens">{formatNumber(tool.tokens)} tokens</span>}
      </summary>
      <div className="stack offered-tool-body">
        <p className="prewrap wrap-any">{tool.description === "" ? <span className="muted">It has no description.</span> : <VisibleText text={tool.description} />}</p>
        {tool.findings.map((finding) => (
          <p key={`${finding.path} ${finding.message}`} className="small wrap-any">
            <b>{finding.severity === "hard" ? "Looks poisoned" : "Look closely"}:</b> <VisibleText text={finding.message} /> <span className="mono muted">{finding.path}</span>
          </p>
        ))}
        {tool.cautions.map((caution) => (
          <p key={caution} className="small wrap-any">
            <VisibleText text={caution} />
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
                <dd className="wrap-any small">{each.description ? <VisibleText text={each.description} /> : <span className="mono muted">{each.schema}</span>}</dd>
              </div>
            ))}
          </dl>
        )}
      </div>
    </details>
  );
}
