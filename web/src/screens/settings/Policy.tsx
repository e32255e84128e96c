/** All that people decided as one file: taken out, and put in after the difference was read. */
import { useRef, useState, type ReactElement } from "react";
import { useAnswer, useDeed } from "@/api/answers";
import { route } from "@/api/client";
import { useMay } from "@/api/session";
import type { Answer } from "@/api/types";
import { Answered, Button, Code, Icon, Notice, Outdated, Skeleton, TextArea, Trouble } from "@/parts";
import { Difference } from "./Difference";

type Exported = Answer<"/policy/export">;
export type PolicyDifference = Answer<"/policy/what-if", "post">;

export function Policy(): ReactElement {
  const operates = useMay("operate");
  return (
    <div className="split settings-policy">
      {operates ? <Export /> : <Notice>To take the policy out or put one in takes the scope operate. You are signed in without it.</Notice>}
      {operates && <Import />}
    </div>
  );
}

function Export(): ReactElement {
  const exported = useAnswer<Exported>(["policy"], "/policy/export");
  return (
    <section className="sheet stack" aria-label="Export">
      <div className="row apart">
        <h2>Take it out</h2>
        <a className="button look-main" href={route("/policy/export/file")} download>
          <Icon name="download" />
          Download the policy
        </a>
      </div>
      <p className="quiet">Switches, approvals, overrides, grants, servers and toolsets that were decided here. No secret and no token is in it.</p>
      <Answered of={exported} waiting={<Skeleton lines={8} />}>
        {(answer) => (
          <>
            {answer.secrets.length > 0 && (
              <Notice>
                Set these variables where it is imported: {answer.secrets.map(({ name }) => name).join(", ")}.
              </Notice>
            )}
            {answer.leftBehind.map((each) => (
              <Notice key={each}>{each}</Notice>
            ))}
            <Code text={answer.text} wraps={false} />
          </>
        )}
      </Answered>
    </section>
  );
}

function Import(): ReactElement {
  const admin = useMay("admin");
  const file = useRef<HTMLInputElement>(null);
  const [text, setText] = useState("");
  const [unread, setUnread] = useState("");
  const asking = useDeed<PolicyDifference>({ silent: true });
  const importing = useDeed<PolicyDifference>({ silent: true });
  const write = (next: string): void => {
    setText(next);
    setUnread("");
    // What was found out is of another text.
    asking.reset();
    importing.reset();
  };
  const difference = asking.data;
  const version = importing.error?.isStale ? null : difference?.policyVersion;
  const compare = (): void => {
    importing.reset();
    asking.mutate({ path: "/policy/what-if", body: { text } });
  };
  const read = (chosen: File | undefined): void => {
    if (chosen === undefined) return;
    chosen.text().then(write, () => setUnread(`${chosen.name} cannot be read.`));
  };
  return (
    <section className="sheet stack" aria-label="Import">
      <div className="row apart">
        <h2>Put one in</h2>
        <Button icon="upload" onClick={() => file.current?.click()}>
          Choose a file
        </Button>
        <input ref={file} type="file" accept=".json,application/json" className="unseen" tabIndex={-1} aria-label="Policy file" onChange={(event) => read(event.target.files?.[0])} />
      </div>
      <p className="quiet">It takes the place of all that was decided here, all of it or nothing. You read the difference first.</p>
      <TextArea label="The policy's text" value={text} onChange={write} rows={8} mono placeholder={'{ "pegboard_policy": 1, … }'} {...(unread === "" ? {} : { error: unread })} />
      <div className="row">
        <Button look={difference === undefined ? "main" : "plain"} disabled={text.trim() === ""} busy={asking.isPending} onClick={compare}>
          What would change
        </Button>
        {admin && difference !== undefined && importing.data === undefined && (
          <Button
            look="main"
            busy={importing.isPending}
            disabled={version === null}
            onClick={() => importing.mutate({ path: "/policy/import", body: { text }, version: version ?? null, done: "The policy holds" })}
          >
            Import it
          </Button>
        )}
      </div>
      {asking.error && <Trouble error={asking.error} />}
      {difference !== undefined && importing.data === undefined && importing.error === null && (
        <Outdated since={difference.policyVersion}>Your text is kept: look at what would change now.</Outdated>
      )}
      {importing.error && (importing.error.isStale ? <Notice tone="wants">Somebody else decided something since you read the difference. Nothing was imported and your text is kept: look at what would change now.</Notice> : <Trouble error={importing.error} />)}
      {importing.data !== undefined && <Notice tone="open">It holds since just now, as version {importing.data.policyVersion} of the policy.</Notice>}
      {difference !== undefined && importing.data === undefined && <Difference of={difference} />}
    </section>
  );
}
