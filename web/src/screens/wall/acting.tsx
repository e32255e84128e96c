/** The one thing that unlocks a tool, as the gateway named it: a button, a way to where it is done, or a place in a file. */
import { useState, type ReactElement } from "react";
import { useDeed } from "@/api/answers";
import { useMay } from "@/api/session";
import type { Action } from "@/api/types";
import { command } from "@/lib/words";
import { Button, ButtonLink, Code, CopyButton, Dialog, Trouble } from "@/parts";

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
  // What holds while the question stands is what it was opened with, whatever others decide meanwhile.
  const [asked, ask] = useState<{ readonly action: Action; readonly version: number | undefined } | null>(null);
  const deed = useDeed({ silent: true });
  const close = (): void => ask(null);
  return (
    <>
      <Button look="main" small onClick={() => ask({ action, version })}>
        {action.label}
      </Button>
      {asked !== null && (
        <Dialog
          open
          onClose={close}
          title={asked.action.label}
          actions={
            <>
              <ButtonLink look="bare" to="/settings" query={{ tab: "people", id: asked.action.target }}>
                All that {asked.action.target} may use
              </ButtonLink>
              <span className="grow" />
              <Button onClick={close}>Cancel</Button>
              <Button
                look="main"
                busy={deed.isPending}
                onClick={() =>
                  deed.mutate(
                    {
                      method: "PUT",
                      path: `/principals/${encodeURIComponent(asked.action.target)}/grants`,
                      body: { toolsets: asked.action.toolsets },
                      version: asked.version ?? null,
                      done: `${asked.action.target} may use ${asked.action.toolsets.join(", ")}`,
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
            <p>
              <b>{asked.action.target}</b> may then use exactly: {asked.action.toolsets.join(", ")}.
            </p>
            <Code text={command("pegboard", "grants", "set", asked.action.target, ...asked.action.toolsets)} />
            {deed.error && !deed.error.isStale && <Trouble error={deed.error} />}
          </div>
        </Dialog>
      )}
    </>
  );
}
