/** The policy as one file: export, and import after reading the difference. */
import { useRef, useState, type ReactElement } from "react";
import { useApiQuery, useApiMutation } from "@/api/queries";
import { apiUrl } from "@/api/client";
import { useHasScope } from "@/api/session";
import type { ResponseOf } from "@/api/types";
import { QueryResult, Button, Code, Icon, Notice, OutdatedNotice, Skeleton, TextArea, ErrorMessage } from "@/components";
import { PolicyDifference } from "./PolicyDifference";

type PolicyExport = ResponseOf<"/policy/export">;
export type PolicyDifferenceData = ResponseOf<"/policy/what-if", "post">;

export function Policy(): ReactElement {
  const canOperate = useHasScope("operate");
  return (
    <div className="split settings-policy">
      {canOperate ? <ExportPolicy /> : <Notice>To take the policy out or put one in takes the scope operate. You are signed in without it.</Notice>}
      {canOperate && <ImportPolicy />}
    </div>
  );
}

function ExportPolicy(): ReactElement {
  const exportQuery = useApiQuery<PolicyExport>(["policy"], "/policy/export");
  return (
    <section className="sheet stack" aria-label="Export">
      <div className="row apart">
        <h2>Take it out</h2>
        <a className="button variant-primary" href={apiUrl("/policy/export/file")} download>
          <Icon name="download" />
          Download the policy
        </a>
      </div>
      <p className="muted">Switches, approvals, overrides, grants, servers and toolsets that were decided here. No secret and no token is in it.</p>
      <QueryResult query={exportQuery} placeholder={<Skeleton lines={8} />}>
        {(response) => (
          <>
            {response.secrets.length > 0 && (
              <Notice>
                Set these variables where it is imported: {response.secrets.map(({ name }) => name).join(", ")}.
              </Notice>
            )}
            {response.omitted.map((warning) => (
              <Notice key={warning}>{warning}</Notice>
            ))}
            <Code text={response.text} wrap={false} />
          </>
        )}
      </QueryResult>
    </section>
  );
}

function ImportPolicy(): ReactElement {
  const isAdmin = useHasScope("admin");
  const fileInput = useRef<HTMLInputElement>(null);
  const [text, setText] = useState("");
  const [readError, setReadError] = useState("");
  const compareMutation = useApiMutation<PolicyDifferenceData>({ silent: true });
  const importMutation = useApiMutation<PolicyDifferenceData>({ silent: true });
  const changeText = (next: string): void => {
    setText(next);
    setReadError("");
    // The results belong to the previous text.
    compareMutation.reset();
    importMutation.reset();
  };
  const difference = compareMutation.data;
  const version = importMutation.error?.isStale ? null : difference?.policyVersion;
  const compare = (): void => {
    importMutation.reset();
    compareMutation.mutate({ path: "/policy/what-if", body: { text } });
  };
  const readFile = (file: File | undefined): void => {
    if (file === undefined) return;
    file.text().then(changeText, () => setReadError(`${file.name} cannot be read.`));
  };
  return (
    <section className="sheet stack" aria-label="Import">
      <div className="row apart">
        <h2>Put one in</h2>
        <Button icon="upload" onClick={() => fileInput.current?.click()}>
          Choose a file
        </Button>
        <input ref={fileInput} type="file" accept=".json,application/json" className="visually-hidden" tabIndex={-1} aria-label="Policy file" onChange={(event) => readFile(event.target.files?.[0])} />
      </div>
      <p className="muted">It takes the place of all that was decided here, all of it or nothing. You read the difference first.</p>
      <TextArea label="The policy's text" value={text} onChange={changeText} rows={8} mono placeholder={'{ "pegboard_policy": 1, … }'} {...(readError === "" ? {} : { error: readError })} />
      <div className="row">
        <Button variant={difference === undefined ? "primary" : "default"} disabled={text.trim() === ""} busy={compareMutation.isPending} onClick={compare}>
          What would change
        </Button>
        {isAdmin && difference !== undefined && importMutation.data === undefined && (
          <Button
            variant="primary"
            busy={importMutation.isPending}
            disabled={version === null}
            onClick={() => importMutation.mutate({ path: "/policy/import", body: { text }, version: version ?? null, successMessage: "The policy holds" })}
          >
            Import it
          </Button>
        )}
      </div>
      {compareMutation.error && <ErrorMessage error={compareMutation.error} />}
      {difference !== undefined && importMutation.data === undefined && importMutation.error === null && (
        <OutdatedNotice since={difference.policyVersion}>Your text is kept: look at what would change now.</OutdatedNotice>
      )}
      {importMutation.error && (importMutation.error.isStale ? <Notice tone="needs_action">Somebody else decided something since you read the difference. Nothing was imported and your text is kept: look at what would change now.</Notice> : <ErrorMessage error={importMutation.error} />)}
      {importMutation.data !== undefined && <Notice tone="open">It holds since just now, as version {importMutation.data.policyVersion} of the policy.</Notice>}
      {difference !== undefined && importMutation.data === undefined && <PolicyDifference difference={difference} />}
    </section>
  );
}
