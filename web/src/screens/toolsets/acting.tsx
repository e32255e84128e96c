/** What can be done to a toolset: switch it, give it away, take it away, tell it a secret. */
import { useState, type FormEvent, type ReactElement } from "react";
import { useAnswer, useDeed } from "@/api/answers";
import { route } from "@/api/client";
import type { Exported, Toolset } from "@/api/servers";
import { useStand } from "@/api/standing";
import { go } from "@/lib/place";
import { bytes } from "@/lib/words";
import { Answered, Button, Check, Dialog, Field, Icon, Meanwhile, Skeleton, Switch, Tag, Trouble } from "@/parts";

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
  const [asking, ask] = useState(false);
  const [note, setNote] = useState("");
  const stand = useStand(version, asking);
  const deed = useDeed({ silent: true, stand });
  const path = toolsetPath(toolset.id, "/switch");
  const throwIt = (on: boolean): void =>
    deed.mutate(
      { path, body: on ? { on } : { on, note }, done: `${toolset.name} is ${on ? "on" : "off"}` },
      { onSuccess: () => ask(false) },
    );
  return (
    <>
      <Switch
        label={labelled ? (toolset.enabled ? "On" : "Off") : `${toolset.name} is on`}
        unlabelled={!labelled}
        on={toolset.enabled}
        disabled={disabled || deed.isPending}
        onChange={(on) => (on ? throwIt(true) : ask(true))}
      />
      <Dialog
        open={asking || (deed.error !== null && !deed.error.isStale)}
        onClose={() => {
          ask(false);
          deed.reset();
        }}
        title={asking ? `Switch ${toolset.name} off?` : `${toolset.name} stays as it is`}
        actions={
          asking && (
            <>
              <Button onClick={() => ask(false)}>Leave it on</Button>
              <Button look="bad" busy={deed.isPending} onClick={() => throwIt(false)}>
                Switch off
              </Button>
            </>
          )
        }
      >
        <div className="stack">
          {asking && (
            <>
              <Meanwhile of={stand} kept="Your note is kept." />
              {!toolset.enabled && <p>It is off already.</p>}
              <p>All of its tools are locked for everybody, and its servers stop. Each keeps its own switch for when it is on again.</p>
              <Field label="Why (others read this)" value={note} onChange={setNote} maxLength={500} />
            </>
          )}
          {deed.error !== null && !deed.error.isStale && <Trouble error={deed.error} />}
        </div>
      </Dialog>
    </>
  );
}

/** What is not given away as it is stands there before the file is made. */
export function Export({ toolset }: { toolset: Toolset }): ReactElement {
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
  const told = useAnswer<Exported>(["toolsets"], toolsetPath(toolset.id, "/export"), { dryRun: true });
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Export ${toolset.name}`}
      actions={
        told.data !== undefined && (
          <a className="button look-main" href={route(toolsetPath(toolset.id, "/export"))} download={told.data.name} onClick={onClose}>
            <Icon name="download" />
            <span className="cut">Download {told.data.name}</span>
          </a>
        )
      }
    >
      <Answered of={told} waiting={<Skeleton lines={3} />}>
        {(answer) => (
          <div className="stack">
            <p>A ZIP of {bytes(answer.bytes)} that can be imported elsewhere: its manifest and its files, without secrets.</p>
            <Left title="Secrets that whoever imports it must set" lines={answer.secrets.map((each) => `${each.name}: ${each.at.join(", ")}`)} />
            <Left title="Left out" lines={[...answer.dropped, ...answer.leftOut]} />
            <Left title="Worth a look" lines={answer.doubts} />
          </div>
        )}
      </Answered>
    </Dialog>
  );
}

export function Left({ title, lines }: { title: string; lines: readonly string[] }): ReactElement | null {
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

export function RemoveToolset({ toolset, version }: { toolset: Toolset; version: number }): ReactElement {
  const [asking, ask] = useState(false);
  const [keeps, keep] = useState(false);
  const stand = useStand(version, asking);
  const deed = useDeed({ silent: true, stand });
  return (
    <>
      <Button look="bad" onClick={() => ask(true)}>
        Remove
      </Button>
      <Dialog
        open={asking}
        onClose={() => ask(false)}
        title={`Remove ${toolset.name}?`}
        actions={
          <>
            <Button onClick={() => ask(false)}>Keep it</Button>
            <Button
              look="bad"
              busy={deed.isPending}
              onClick={() =>
                // A promise, because this button is gone with the toolset.
                void deed
                  .mutateAsync({ method: "DELETE", path: toolsetPath(toolset.id), query: { keepWorkspace: keeps }, done: `${toolset.name} is removed` })
                  .then(
                    () => go("/toolsets"),
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
          <Meanwhile of={stand} kept="It is still there." />
          <p>Its tools, servers, files, secrets, switches and approvals go with it.</p>
          <Check label="Keep what its tools wrote to their workspace" on={keeps} onChange={keep} />
          {deed.error !== null && !deed.error.isStale && <Trouble error={deed.error} />}
        </div>
      </Dialog>
    </>
  );
}

/** Set, never shown: only whether it is there. */
export function Secret({ toolset, name, isSet, may }: { toolset: string; name: string; isSet: boolean; may: boolean }): ReactElement {
  const [value, setValue] = useState("");
  const deed = useDeed();
  const path = toolsetPath(toolset, `/secrets/${encodeURIComponent(name)}`);
  const save = (event: FormEvent): void => {
    event.preventDefault();
    deed.mutate({ method: "PUT", path, body: { value }, done: `${name} is set` }, { onSuccess: () => setValue("") });
  };
  return (
    <form className="secret" onSubmit={save}>
      <span className="row tight">
        <span className="mono wrap-any">{name}</span>
        {isSet ? <Tag tone="open">set</Tag> : <Tag tone="wants">not set</Tag>}
      </span>
      {may && (
        <span className="row">
          <Field label={`Value of ${name}`} unlabelled type="password" mono value={value} onChange={setValue} placeholder={isSet ? "another value" : "value"} />
          <Button small type="submit" busy={deed.isPending} disabled={value === ""}>
            Set
          </Button>
          {isSet && (
            <Button small look="bad" onClick={() => deed.mutate({ method: "DELETE", path, done: `${name} is forgotten` })}>
              Forget
            </Button>
          )}
        </span>
      )}
    </form>
  );
}
