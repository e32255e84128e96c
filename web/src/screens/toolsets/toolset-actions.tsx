/** Actions on a toolset: enable or disable, export, remove, set a secret. */
import { useState, type FormEvent, type ReactElement } from "react";
import { useApiQuery, useApiMutation } from "@/api/queries";
import { apiUrl } from "@/api/client";
import type { ToolsetExport, Toolset } from "@/api/servers";
import { useVersionGuard } from "@/api/version-guard";
import { navigate } from "@/lib/router";
import { formatBytes } from "@/lib/format";
import { QueryResult, Button, Checkbox, Dialog, Field, Icon, ConcurrentChangeNotice, Skeleton, Switch, Tag, ErrorMessage } from "@/components";

export function toolsetPath(id: string, rest = ""): string {
  return `/toolsets/${encodeURIComponent(id)}${rest}`;
}

export function ToolsetSwitch({
  toolset,
  version,
  disabled,
  labelled = false,
}: {
  toolset: Toolset;
  version: number;
  disabled: boolean;
  labelled?: boolean;
}): ReactElement {
  const [confirmOpen, setConfirmOpen] = useState(false);
  const [note, setNote] = useState("");
  const guard = useVersionGuard(version, confirmOpen);
  const mutation = useApiMutation({ silent: true, guard });
  const path = toolsetPath(toolset.id, "/switch");
  const setEnabled = (enabled: boolean): void =>
    mutation.mutate(
      { path, body: enabled ? { enabled } : { enabled, note }, successMessage: `${toolset.name} is ${enabled ? "on" : "off"}` },
      { onSuccess: () => setConfirmOpen(false) },
    );
  return (
    <>
      <Switch
        label={labelled ? (toolset.enabled ? "On" : "Off") : `${toolset.name} is on`}
        hideLabel={!labelled}
        checked={toolset.enabled}
        disabled={disabled || mutation.isPending}
        onChange={(on) => (on ? setEnabled(true) : setConfirmOpen(true))}
      />
      <Dialog
        open={confirmOpen || (mutation.error !== null && !mutation.error.isStale)}
        onClose={() => {
          setConfirmOpen(false);
          mutation.reset();
        }}
        title={confirmOpen ? `Switch ${toolset.name} off?` : `${toolset.name} stays as it is`}
        actions={
          confirmOpen && (
            <>
              <Button onClick={() => setConfirmOpen(false)}>Leave it on</Button>
              <Button variant="danger" busy={mutation.isPending} onClick={() => setEnabled(false)}>
                Switch off
              </Button>
            </>
          )
        }
      >
        <div className="stack">
          {confirmOpen && (
            <>
              <ConcurrentChangeNotice guard={guard} unchanged="Your note is kept." />
              {!toolset.enabled && <p>It is off already.</p>}
              <p>All of its tools are locked for everybody, and its servers stop. Each keeps its own switch for when it is on again.</p>
              <Field label="Why (others read this)" value={note} onChange={setNote} maxLength={500} />
            </>
          )}
          {mutation.error !== null && !mutation.error.isStale && <ErrorMessage error={mutation.error} />}
        </div>
      </Dialog>
    </>
  );
}

/** Shows what the export changes or leaves out before the file is created. */
export function ExportButton({ toolset }: { toolset: Toolset }): ReactElement {
  const [open, setOpen] = useState(false);
  return (
    <>
      <Button icon="download" onClick={() => setOpen(true)}>
        Export
      </Button>
      {open && <ExportDialog toolset={toolset} onClose={() => setOpen(false)} />}
    </>
  );
}

function ExportDialog({ toolset, onClose }: { toolset: Toolset; onClose: () => void }): ReactElement {
  const response = useApiQuery<ToolsetExport>(["toolsets"], toolsetPath(toolset.id, "/export"), { dryRun: true });
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Export ${toolset.name}`}
      actions={
        response.data !== undefined && (
          <a className="button variant-primary" href={apiUrl(toolsetPath(toolset.id, "/export"))} download={response.data.name} onClick={onClose}>
            <Icon name="download" />
            <span className="truncate">Download {response.data.name}</span>
          </a>
        )
      }
    >
      <QueryResult query={response} placeholder={<Skeleton lines={3} />}>
        {(data) => (
          <div className="stack">
            <p>A ZIP of {formatBytes(data.bytes)} that can be imported elsewhere: its manifest and its files, without secrets.</p>
            <TitledList title="Secrets that whoever imports it must set" lines={data.secrets.map((each) => `${each.name}: ${each.locations.join(", ")}`)} />
            <TitledList title="Left out" lines={[...data.droppedParts, ...data.omitted]} />
            <TitledList title="Worth a look" lines={data.possibleSecrets} />
          </div>
        )}
      </QueryResult>
    </Dialog>
  );
}

export function TitledList({ title, lines }: { title: string; lines: readonly string[] }): ReactElement | null {
  if (lines.length === 0) return null;
  return (
    <div>
      <h3>{title}</h3>
      <ul className="dotted">
        {lines.map((line) => (
          <li key={line} className="wrap-any">
            {line}
          </li>
        ))}
      </ul>
    </div>
  );
}

export function RemoveToolsetButton({ toolset, version }: { toolset: Toolset; version: number }): ReactElement {
  const [confirmOpen, setConfirmOpen] = useState(false);
  const [keepWorkspace, setKeepWorkspace] = useState(false);
  const guard = useVersionGuard(version, confirmOpen);
  const mutation = useApiMutation({ silent: true, guard });
  return (
    <>
      <Button variant="danger" onClick={() => setConfirmOpen(true)}>
        Remove
      </Button>
      <Dialog
        open={confirmOpen}
        onClose={() => setConfirmOpen(false)}
        title={`Remove ${toolset.name}?`}
        actions={
          <>
            <Button onClick={() => setConfirmOpen(false)}>Keep it</Button>
            <Button
              variant="danger"
              busy={mutation.isPending}
              onClick={() =>
                // A promise, because this button is unmounted with the toolset.
                void mutation
                  .mutateAsync({ method: "DELETE", path: toolsetPath(toolset.id), query: { keepWorkspace }, successMessage: `${toolset.name} is removed` })
                  .then(
                    () => navigate("/toolsets"),
                    () => undefined,
                  )
              }
            >
              Remove {toolset.name}
            </Button>
          </>
        }
      >
        <div className="stack">
          <ConcurrentChangeNotice guard={guard} unchanged="It is still there." />
          <p>Its tools, servers, files, secrets, switches and approvals go with it.</p>
          <Checkbox label="Keep what its tools wrote to their workspace" checked={keepWorkspace} onChange={setKeepWorkspace} />
          {mutation.error !== null && !mutation.error.isStale && <ErrorMessage error={mutation.error} />}
        </div>
      </Dialog>
    </>
  );
}

/** The value can be set and is never shown. */
export function SecretForm({ toolset, name, isSet, canOperate }: { toolset: string; name: string; isSet: boolean; canOperate: boolean }): ReactElement {
  const [value, setValue] = useState("");
  const mutation = useApiMutation();
  const path = toolsetPath(toolset, `/secrets/${encodeURIComponent(name)}`);
  const save = (event: FormEvent): void => {
    event.preventDefault();
    mutation.mutate({ method: "PUT", path, body: { value }, successMessage: `${name} is set` }, { onSuccess: () => setValue("") });
  };
  return (
    <form className="secret" onSubmit={save}>
      <span className="row tight">
        <span className="mono wrap-any">{name}</span>
        {isSet ? <Tag tone="open">set</Tag> : <Tag tone="needs_action">not set</Tag>}
      </span>
      {canOperate && (
        <span className="row">
          <Field label={`Value of ${name}`} hideLabel type="password" mono value={value} onChange={setValue} placeholder={isSet ? "another value" : "value"} />
          <Button small type="submit" busy={mutation.isPending} disabled={value === ""}>
            Set
          </Button>
          {isSet && (
            <Button small variant="danger" onClick={() => mutation.mutate({ method: "DELETE", path, successMessage: `${name} is forgotten` })}>
              Forget
            </Button>
          )}
        </span>
      )}
    </form>
  );
}
