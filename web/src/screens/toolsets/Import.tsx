/** An import in two steps: what it brings and changes, and then, if somebody wants it, the change itself. */
import { useEffect, useRef, useState, type ReactElement } from "react";
import { queries } from "@/api/answers";
import { ask } from "@/api/client";
import type { Imported } from "@/api/servers";
import { useMay } from "@/api/session";
import { go, type Query } from "@/lib/place";
import { command } from "@/lib/words";
import { Button, Check, Field, Icon, Link, Notice, Outdated, Screen, Skeleton, toast, Trouble } from "@/parts";
import { kindOf, takeDropped } from "./dropped";
import { Report } from "./Report";

type From = { readonly file: File } | { readonly path: string };

function named(from: From): string {
  return "file" in from ? from.file.name : from.path;
}

function send(from: From, query: Query, version: number | null = null): Promise<Imported> {
  const body = "file" in from ? new Blob([from.file], { type: kindOf(from.file.name) }) : { path: from.path };
  return ask<Imported>("/toolsets/import", { method: "POST", query, body, version });
}

export function Import(): ReactElement {
  const may = useMay("admin");
  const [from, setFrom] = useState<From | null>(null);
  const [report, setReport] = useState<Imported | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState<"look" | "bring" | null>(null);
  const [older, allowOlder] = useState(false);
  const turn = useRef(0);

  const look = async (next: From, describe = false): Promise<void> => {
    const mine = ++turn.current;
    setFrom(next);
    setReport(describe ? report : null);
    setError(null);
    setBusy("look");
    try {
      const told = await send(next, { dryRun: true, describe, allowDowngrade: true });
      if (mine === turn.current) setReport(told);
    } catch (problem) {
      if (mine === turn.current) setError(problem);
    } finally {
      if (mine === turn.current) setBusy(null);
    }
  };

  const bring = async (): Promise<void> => {
    if (from === null || report === null) return;
    setBusy("bring");
    setError(null);
    try {
      const told = await send(from, { digest: report.digest, allowDowngrade: older }, report.policyVersion);
      toast(`${told.id} ${told.version} is imported`);
      for (const warning of told.warnings) toast(warning, "wants");
      go("/toolsets", { id: told.id });
    } catch (problem) {
      setError(problem);
    } finally {
      setBusy(null);
      void queries.invalidateQueries();
    }
  };

  useEffect(() => {
    const file = takeDropped();
    if (file !== null) void look({ file });
    // Only what was dropped on the page before.
  }, []);

  const source = from === null ? "SOURCE" : named(from);
  return (
    <Screen
      title="Import a toolset"
      lead={<Link to="/toolsets">All toolsets</Link>}
      json={{ path: "/toolsets" }}
      command={command("pegboard", "toolset", "import", source)}
    >
      {!may ? (
        <Notice>To import a toolset takes a token with the scope admin: it brings programs onto the gateway's machine.</Notice>
      ) : (
        <>
          <Choose busy={busy !== null} onChoose={(next) => void look(next)} />
          {from !== null && (
            <section className="sheet stack" aria-label="Report" aria-busy={busy !== null}>
              <div className="row apart">
                <h2 className="wrap-any">{named(from)}</h2>
                {busy === null && (
                  <Button small icon="again" onClick={() => void look(from)}>
                    Read again
                  </Button>
                )}
              </div>
              {error !== null && <Trouble error={error} />}
              {report === null && busy !== null && <Skeleton lines={6} />}
              {report !== null && (
                <>
                  {busy === null && <Outdated since={report.policyVersion}>Read it again before you import it.</Outdated>}
                  <Report report={report} busy={busy !== null} onDescribe={() => void look(from, true)} />
                  {report.downgrade !== null && (
                    <Notice tone="wants">
                      <p className="wrap-any">{report.downgrade}</p>
                      <Check label="Go back to the older version all the same" on={older} onChange={allowOlder} />
                    </Notice>
                  )}
                  <div className="row">
                    <Button
                      look="main"
                      icon="upload"
                      busy={busy === "bring"}
                      disabled={busy !== null || !report.changes.any || (report.downgrade !== null && !older)}
                      onClick={() => void bring()}
                    >
                      Import {report.id}
                    </Button>
                    <span className="quiet small">{report.changes.any ? "Nothing is installed until you do." : "It is on the board exactly so: there is nothing to import."}</span>
                  </div>
                </>
              )}
            </section>
          )}
        </>
      )}
    </Screen>
  );
}

function Choose({ busy, onChoose }: { busy: boolean; onChoose: (from: From) => void }): ReactElement {
  const [over, setOver] = useState(false);
  const [path, setPath] = useState("");
  const picker = useRef<HTMLInputElement>(null);
  return (
    <div className="stack">
      <div
        className={`drop ${over ? "is-over" : ""}`}
        onDragOver={(event) => {
          event.preventDefault();
          setOver(true);
        }}
        onDragLeave={() => setOver(false)}
        onDrop={(event) => {
          event.preventDefault();
          setOver(false);
          const file = event.dataTransfer.files[0];
          if (file !== undefined) onChoose({ file });
        }}
      >
        <Icon name="upload" size={24} />
        <p>Drop a ZIP or a toolset.yaml here</p>
        <Button disabled={busy} onClick={() => picker.current?.click()}>
          Choose a file
        </Button>
        <input
          ref={picker}
          type="file"
          className="unseen"
          tabIndex={-1}
          aria-label="A ZIP or a toolset.yaml"
          accept=".zip,.yaml,.yml,application/zip,application/yaml"
          onChange={(event) => {
            const file = event.target.files?.[0];
            event.target.value = "";
            if (file !== undefined) onChoose({ file });
          }}
        />
      </div>
      <details className="small">
        <summary>Or name a folder on the gateway's machine</summary>
        <form
          className="path-form"
          onSubmit={(event) => {
            event.preventDefault();
            onChoose({ path: path.trim() });
          }}
        >
          <Field label="Absolute path of a folder, a ZIP or a toolset.yaml" mono value={path} onChange={setPath} />
          <Button type="submit" disabled={busy || path.trim() === ""}>
            Read it
          </Button>
        </form>
      </details>
    </div>
  );
}
