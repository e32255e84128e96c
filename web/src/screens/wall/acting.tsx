/** The one thing that unlocks a tool, as the gateway named it: a button, a way to where it is done, or a place in a file. */
import { useState, type ReactElement } from "react";
import { useDeed } from "@/api/answers";
import { useMay } from "@/api/session";
import { useStand } from "@/api/standing";
import type { Action } from "@/api/types";
import { command } from "@/lib/words";
import { Button, ButtonLink, Code, CopyButton, Dialog, Meanwhile, Trouble } from "@/parts";

/** What an act is about: a tool, or a server whose tools are not known. */
type Unlocked = { readonly name: string; readonly action: Action };

export function Unlocking({ peg, version, onWiden }: { peg: Unlocked; version: number | undefined; onWiden?: () => void }): ReactElement | null {
  const deed = useDeed();
  const operates = useMay("operate");
  const admin = useMay("admin");
  const { kind, target, label } = peg.action;
  const act = (path: string, body: unknown, done: string): ReactElement | null =>
    operates ? (
      <Button look="main" small busy={deed.isPending} onClick={() => deed.mutate({ path, body, version: version ?? null, done })}>
        {label}
      </Button>
    ) : null;
  const lead = (to: string, query: Readonly<Record<string, string>>): ReactElement => (
    <ButtonLink look="main" small to={to} query={query}>
      {label}
    </ButtonLink>
  );
  const at = encodeURIComponent(target);
  switch (kind) {
    case "switch_tool":
      return act("/tools/switch", { tool: target, on: true }, `${peg.name} is switched on`);
    case "switch_server":
      return act(`/servers/${at}/switch`, { on: true }, `${target} is switched on`);
    case "switch_toolset":
      return act(`/toolsets/${at}/switch`, { on: true }, `${target} is switched on`);
    case "restart":
      return operates ? (
        <Button look="main" small icon="again" busy={deed.isPending} onClick={() => deed.mutate({ path: `/servers/${at}/restart`, done: `${target} starts again` })}>
          {label}
        </Button>
      ) : null;
    case "approve":
      return lead("/approvals", { tool: target });
    case "review_server":
    case "sign_in":
      return lead("/servers", { id: target });
    case "set_secret":
      return lead("/toolsets", { id: target.split("/")[0] ?? "" });
    case "correct_override":
      return lead("/tool", { id: target, tab: "override" });
    case "grant":
      return admin ? <Granting action={peg.action} version={version} /> : lead("/settings", { tab: "people", id: target });
    case "make_token":
      return admin ? lead("/settings", { tab: "tokens", make: "1" }) : null;
    case "widen":
      return onWiden === undefined ? null : (
        <Button look="main" small onClick={onWiden}>
          {label}
        </Button>
      );
    case "edit_file":
      return (
        <span className="row tight small unlocking-file">
          <span className="wrap-any">
            {label}, in <code>{target}</code>
          </span>
          <CopyButton text={target} />
        </span>
      );
    case "none":
      return null;
  }
}

/** A grant after a second look: it says exactly what would be sent, on the version that was looked at. */
function Granting({ action, version }: { action: Action; version: number | undefined }): ReactElement {
  const [asks, ask] = useState(false);
  const stand = useStand(version, asks, JSON.stringify([action.target, action.toolsets]));
  const deed = useDeed({ silent: true, stand });
  // What holds while the question stands is what it was opened with; what was refused for it is asked anew of what holds now.
  const [target, toolsets] = stand.refused ? ([action.target, action.toolsets] as const) : (JSON.parse(stand.seen) as [string, string[]]);
  const close = (): void => ask(false);
  return (
    <>
      <Button look="main" small onClick={() => ask(true)}>
        {action.label}
      </Button>
      {asks && (
        <Dialog
          open
          onClose={close}
          title={action.label}
          actions={
            <>
              <ButtonLink look="bare" to="/settings" query={{ tab: "people", id: target }}>
                All that {target} may use
              </ButtonLink>
              <span className="grow" />
              <Button onClick={close}>Cancel</Button>
              <Button
                look="main"
                busy={deed.isPending}
                disabled={(version ?? 0) < stand.version}
                onClick={() =>
                  deed.mutate(
                    {
                      method: "PUT",
                      path: `/principals/${encodeURIComponent(target)}/grants`,
                      body: { toolsets },
                      done: `${target} may use ${toolsets.join(", ")}`,
                    },
                    { onSuccess: close },
                  )
                }
              >
                Grant
              </Button>
            </>
          }
        >
          <div className="stack">
            <Meanwhile of={stand} kept="Nothing was granted here yet." />
            <p>
              <b>{target}</b> may then use exactly: {toolsets.join(", ")}.
            </p>
            <Code text={command("pegboard", "grants", "set", target, ...toolsets)} />
            {deed.error && !deed.error.isStale && <Trouble error={deed.error} />}
          </div>
        </Dialog>
      )}
    </>
  );
}
