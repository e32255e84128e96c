/** From an empty board to a first call: a server, a tool that is open, a client that calls it. */
import type { ReactElement, ReactNode } from "react";
import { useAnswer } from "@/api/answers";
import type { FirstRun as Told } from "@/api/types";
import { count } from "@/lib/words";
import { Answered, ButtonLink, Code, Icon, StateMark } from "@/parts";

export function FirstRun(): ReactElement {
  const first = useAnswer<Told>(["board", "servers", "activity"], "/first-run");
  return <Answered of={first}>{(told) => <Steps told={told} />}</Answered>;
}

function Steps({ told }: { told: Told }): ReactElement {
  return (
    <div className="board first-run">
      <p className="first-run-lead">Three steps to a first call.</p>
      <ol className="first-run-steps">
        <Step at={1} title="Hang tools on the board" done={told.servers > 0}>
          <ul className="stack">
            {told.steps.map((step) => (
              <li key={step.kind} className="first-run-way">
                <div className="grow">
                  <h3>{step.title}</h3>
                  <p className="quiet small">{step.sentence}</p>
                </div>
                {step.kind === "demo" ? (
                  <code>{step.command}</code>
                ) : step.kind === "import" && told.importable === 0 ? null : (
                  <ButtonLink small look={step.kind === (told.importable > 0 ? "import" : "add") ? "main" : "plain"} to="/servers" query={step.kind === "import" ? { add: "client" } : { add: "paste" }}>
                    {step.kind === "import" ? "Look at them" : "Add a server"}
                  </ButtonLink>
                )}
              </li>
            ))}
          </ul>
        </Step>
        <ToACall told={told} />
      </ol>
    </div>
  );
}

/** Below a wall with tools, until one of them was called. */
export function NextSteps(): ReactElement | null {
  const told = useAnswer<Told>(["board", "servers", "activity"], "/first-run").data;
  if (told === undefined || told.called || told.servers === 0) return null;
  return (
    <section aria-label="To a first call">
      <ol className="first-run-steps">
        <ToACall told={told} />
      </ol>
    </section>
  );
}

function ToACall({ told }: { told: Told }): ReactElement {
  const snippet = JSON.stringify({ mcpServers: { pegboard: { type: "http", url: told.endpoint ?? "" } } }, null, 2);
  return (
    <>
        <Step at={2} title="Connect your client" done={told.called}>
          {told.endpoint === null ? (
            <p className="quiet">This gateway has no address for MCP clients. Start it with: pegboard serve</p>
          ) : (
            <>
              <p className="quiet small">Put this into your client&apos;s list of MCP servers, in place of the servers it has now:</p>
              <Code text={snippet} />
              {told.asks && (
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
        <Step at={3} title="Call a tool" done={told.called}>
          <p className="quiet small">
            {told.openTools > 0 ? `${count(told.openTools, "tool")} open. Ask your model for something, or try one here; every call is in the activity.` : "Once a tool is open, ask your model for something, or try it here."}
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

function Step({ at, title, done, children }: { at: number; title: string; done: boolean; children: ReactNode }): ReactElement {
  return (
    <li className={`first-run-step ${done ? "is-done" : ""}`}>
      <span className="first-run-number" aria-hidden="true">
        {done ? <Icon name="check" /> : at}
      </span>
      <div className="stack grow">
        <h2 className="row apart">
          {title} {done && <StateMark state="open" word="unseen" />}
        </h2>
        {children}
      </div>
    </li>
  );
}
