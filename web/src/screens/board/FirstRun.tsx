/** The steps from an empty board to a first call: add a server, open a tool, connect a client. */
import type { ReactElement, ReactNode } from "react";
import { useApiQuery } from "@/api/queries";
import type { FirstRun as FirstRunState } from "@/api/types";
import { formatCount } from "@/lib/format";
import { QueryResult, ButtonLink, Code, Icon, StateMark } from "@/components";

export function FirstRun(): ReactElement {
  const response = useApiQuery<FirstRunState>(["board", "servers", "activity"], "/first-run");
  return <QueryResult query={response}>{(firstRun) => <FirstRunSteps firstRun={firstRun} />}</QueryResult>;
}

function FirstRunSteps({ firstRun }: { firstRun: FirstRunState }): ReactElement {
  return (
    <div className="pegboard first-run">
      <p className="first-run-lead">Three steps to a first call.</p>
      <ol className="first-run-steps">
        <Step number={1} title="Hang tools on the board" done={firstRun.servers > 0}>
          <ul className="stack">
            {firstRun.steps.map((step) => (
              <li key={step.kind} className="first-run-option">
                <div className="grow">
                  <h3>{step.title}</h3>
                  <p className="muted small">{step.description}</p>
                </div>
                {step.kind === "demo" ? (
                  <code>{step.command}</code>
                ) : step.kind === "import" && firstRun.importableServers === 0 ? null : (
                  <ButtonLink small variant={step.kind === (firstRun.importableServers > 0 ? "import" : "add") ? "primary" : "default"} to="/servers" query={step.kind === "import" ? { add: "client" } : { add: "paste" }}>
                    {step.kind === "import" ? "Look at them" : "Add a server"}
                  </ButtonLink>
                )}
              </li>
            ))}
          </ul>
        </Step>
        <ConnectAndCallSteps firstRun={firstRun} />
      </ol>
    </div>
  );
}

/** The remaining steps, below a board with tools until one of them was called. */
export function NextSteps(): ReactElement | null {
  const firstRun = useApiQuery<FirstRunState>(["board", "servers", "activity"], "/first-run").data;
  if (firstRun === undefined || firstRun.hasCalls || firstRun.servers === 0) return null;
  return (
    <section aria-label="To a first call">
      <ol className="first-run-steps">
        <ConnectAndCallSteps firstRun={firstRun} />
      </ol>
    </section>
  );
}

function ConnectAndCallSteps({ firstRun }: { firstRun: FirstRunState }): ReactElement {
  const snippet = JSON.stringify({ mcpServers: { pegboard: { type: "http", url: firstRun.endpoint ?? "" } } }, null, 2);
  return (
    <>
        <Step number={2} title="Connect your client" done={firstRun.hasCalls}>
          {firstRun.endpoint === null ? (
            <p className="muted">This gateway has no address for MCP clients. Start it with: pegboard serve</p>
          ) : (
            <>
              <p className="muted small">Put this into your client&apos;s list of MCP servers, in place of the servers it has now:</p>
              <Code text={snippet} />
              {firstRun.requiresTokens && (
                <div className="row small">
                  <span className="grow">It asks who calls: your client needs a token, too.</span>
                  <ButtonLink small to="/settings" query={{ tab: "tokens", make: "1" }}>
                    Make a token
                  </ButtonLink>
                </div>
              )}
            </>
          )}
        </Step>
        <Step number={3} title="Call a tool" done={firstRun.hasCalls}>
          <p className="muted small">
            {firstRun.openTools > 0 ? `${formatCount(firstRun.openTools, "tool")} open. Ask your model for something, or try one here; every call is in the activity.` : "Once a tool is open, ask your model for something, or try it here."}
          </p>
          <div className="row">
            <ButtonLink small to="/tool" icon="tool">
              Try a tool
            </ButtonLink>
            <ButtonLink small to="/activity" icon="activity">
              See the activity
            </ButtonLink>
          </div>
        </Step>
    </>
  );
}

function Step({ number, title, done, children }: { number: number; title: string; done: boolean; children: ReactNode }): ReactElement {
  return (
    <li className={`first-run-step ${done ? "is-done" : ""}`}>
      <span className="first-run-number" aria-hidden="true">
        {done ? <Icon name="check" /> : number}
      </span>
      <div className="stack grow">
        <h2 className="row apart">
          {title} {done && <StateMark state="open" label="screen-reader" />}
        </h2>
        {children}
      </div>
    </li>
  );
}
