/** Imports a toolset in two steps: a report of its contents and changes, then the installation. */
import { useEffect, useRef, useState, type ReactElement } from "react";
import { queryClient } from "@/api/queries";
import { request } from "@/api/client";
import type { ToolsetImport } from "@/api/servers";
import { useHasScope } from "@/api/session";
import { navigate, type Query } from "@/lib/router";
import { shellCommand } from "@/lib/format";
import { Button, Checkbox, Field, Icon, Link, Notice, OutdatedNotice, Screen, Skeleton, toast, ErrorMessage } from "@/components";
import { contentType, takeDroppedFile } from "./dropped-file";
import { ImportReport } from "./ImportReport";

type ImportSource = { readonly file: File } | { readonly path: string };

function sourceName(source: ImportSource): string {
  return "file" in source ? source.file.name : source.path;
}

function sendImport(source: ImportSource, query: Query, version: number | null = null): Promise<ToolsetImport> {
  const body = "file" in source ? new Blob([source.file], { type: contentType(source.file.name) }) : { path: source.path };
  return request<ToolsetImport>("/toolsets/import", { method: "POST", query, body, version });
}

export function ImportToolset(): ReactElement {
  const canImport = useHasScope("admin");
  const [source, setSource] = useState<ImportSource | null>(null);
  const [report, setReport] = useState<ToolsetImport | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState<"preview" | "install" | null>(null);
  const [downgradeAllowed, setDowngradeAllowed] = useState(false);
  const currentRun = useRef(0);

  const preview = async (next: ImportSource, describe = false): Promise<void> => {
    const run = ++currentRun.current;
    setSource(next);
    setReport(describe ? report : null);
    setError(null);
    setBusy("preview");
    try {
      const response = await sendImport(next, { dryRun: true, describe, allowDowngrade: true });
      if (run === currentRun.current) setReport(response);
    } catch (problem) {
      if (run === currentRun.current) setError(problem);
    } finally {
      if (run === currentRun.current) setBusy(null);
    }
  };

  const install = async (): Promise<void> => {
    if (source === null || report === null) return;
    setBusy("install");
    setError(null);
    try {
      const response = await sendImport(source, { digest: report.digest, allowDowngrade: downgradeAllowed }, report.policyVersion);
      toast(`${response.id} ${response.version} is imported`);
      for (const warning of response.warnings) toast(warning, "needs_action");
      navigate("/toolsets", { id: response.id });
    } catch (problem) {
      setError(problem);
    } finally {
      setBusy(null);
      void queryClient.invalidateQueries();
    }
  };

  useEffect(() => {
    const file = takeDroppedFile();
    if (file !== null) void preview({ file });
    // Only the file that was dropped on the previous screen.
  }, []);

  const sourceText = source === null ? "SOURCE" : sourceName(source);
  return (
    <Screen
      title="Import a toolset"
      lead={<Link to="/toolsets">All toolsets</Link>}
      json={{ path: "/toolsets" }}
      command={shellCommand("pegboard", "toolset", "import", sourceText)}
    >
      {!canImport ? (
        <Notice>To import a toolset takes a token with the scope admin: it brings programs onto the gateway's machine.</Notice>
      ) : (
        <>
          <SourcePicker busy={busy !== null} onChoose={(next) => void preview(next)} />
          {source !== null && (
            <section className="sheet stack" aria-label="Report" aria-busy={busy !== null}>
              <div className="row apart">
                <h2 className="wrap-any">{sourceName(source)}</h2>
                {busy === null && (
                  <Button small icon="refresh" onClick={() => void preview(source)}>
                    Read again
                  </Button>
                )}
              </div>
              {error !== null && <ErrorMessage error={error} />}
              {report === null && busy !== null && <Skeleton lines={6} />}
              {report !== null && (
                <>
                  {busy === null && <OutdatedNotice since={report.policyVersion}>Read it again before you import it.</OutdatedNotice>}
                  <ImportReport report={report} busy={busy !== null} onDescribe={() => void preview(source, true)} />
                  {report.downgrade !== null && (
                    <Notice tone="needs_action">
                      <p className="wrap-any">{report.downgrade}</p>
                      <Checkbox label="Go back to the older version all the same" checked={downgradeAllowed} onChange={setDowngradeAllowed} />
                    </Notice>
                  )}
                  <div className="row">
                    <Button
                      variant="primary"
                      icon="upload"
                      busy={busy === "install"}
                      disabled={busy !== null || !report.changes.hasChanges || (report.downgrade !== null && !downgradeAllowed)}
                      onClick={() => void install()}
                    >
                      Import {report.id}
                    </Button>
                    <span className="muted small">{report.changes.hasChanges ? "Nothing is installed until you do." : "It is on the board exactly so: there is nothing to import."}</span>
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

function SourcePicker({ busy, onChoose }: { busy: boolean; onChoose: (source: ImportSource) => void }): ReactElement {
  const [isDragOver, setIsDragOver] = useState(false);
  const [path, setPath] = useState("");
  const fileInput = useRef<HTMLInputElement>(null);
  return (
    <div className="stack">
      <div
        className={`drop ${isDragOver ? "is-over" : ""}`}
        onDragOver={(event) => {
          event.preventDefault();
          setIsDragOver(true);
        }}
        onDragLeave={() => setIsDragOver(false)}
        onDrop={(event) => {
          event.preventDefault();
          setIsDragOver(false);
          const file = event.dataTransfer.files[0];
          if (file !== undefined) onChoose({ file });
        }}
      >
        <Icon name="upload" size={24} />
        <p>Drop a ZIP or a toolset.yaml here</p>
        <Button disabled={busy} onClick={() => fileInput.current?.click()}>
          Choose a file
        </Button>
        <input
          ref={fileInput}
          type="file"
          className="visually-hidden"
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
