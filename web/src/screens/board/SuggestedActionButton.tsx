/** The one action that unlocks a tool, as the gateway suggests it: a button, a link, or a location in a file. */
import { useState, type ReactElement } from "react";
import { useApiMutation } from "@/api/queries";
import { useHasScope } from "@/api/session";
import { useVersionGuard } from "@/api/version-guard";
import type { SuggestedAction } from "@/api/types";
import { shellCommand } from "@/lib/format";
import { Button, ButtonLink, Code, CopyButton, Dialog, ConcurrentChangeNotice, ErrorMessage } from "@/components";

/** What the action is about: a tool, or a server whose tools are unknown. */
type ActionSubject = { readonly name: string; readonly action: SuggestedAction };

export function SuggestedActionButton({ subject, version, onWiden }: { subject: ActionSubject; version: number | undefined; onWiden?: () => void }): ReactElement | null {
  const mutation = useApiMutation();
  const canOperate = useHasScope("operate");
  const isAdmin = useHasScope("admin");
  const { kind, target, label } = subject.action;
  const postButton = (path: string, body: unknown, successMessage: string): ReactElement | null =>
    canOperate ? (
      <Button variant="primary" small busy={mutation.isPending} onClick={() => mutation.mutate({ path, body, version: version ?? null, successMessage })}>
        {label}
      </Button>
    ) : null;
  const linkButton = (to: string, query: Readonly<Record<string, string>>): ReactElement => (
    <ButtonLink variant="primary" small to={to} query={query}>
      {label}
    </ButtonLink>
  );
  const targetPath = encodeURIComponent(target);
  switch (kind) {
    case "enable_tool":
      return postButton("/tools/switch", { tool: target, enabled: true }, `${subject.name} is switched on`);
    case "enable_server":
      return postButton(`/servers/${targetPath}/switch`, { enabled: true }, `${target} is switched on`);
    case "enable_toolset":
      return postButton(`/toolsets/${targetPath}/switch`, { enabled: true }, `${target} is switched on`);
    case "restart":
      return canOperate ? (
        <Button variant="primary" small icon="refresh" busy={mutation.isPending} onClick={() => mutation.mutate({ path: `/servers/${targetPath}/restart`, successMessage: `${target} starts again` })}>
          {label}
        </Button>
      ) : null;
    case "approve":
      return linkButton("/approvals", { tool: target });
    case "review_server":
    case "sign_in":
      return linkButton("/servers", { id: target });
    case "set_secret":
      return linkButton("/toolsets", { id: target.split("/")[0] ?? "" });
    case "edit_override":
      return linkButton("/tool", { id: target, tab: "override" });
    case "grant":
      return isAdmin ? <GrantButton action={subject.action} version={version} /> : linkButton("/settings", { tab: "people", id: target });
    case "create_token":
      return isAdmin ? linkButton("/settings", { tab: "tokens", make: "1" }) : null;
    case "widen_selection":
      return onWiden === undefined ? null : (
        <Button variant="primary" small onClick={onWiden}>
          {label}
        </Button>
      );
    case "edit_file":
      return (
        <span className="row tight small action-file">
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

/** Asks before it grants, and shows exactly what will be sent, based on the version that the person saw. */
function GrantButton({ action, version }: { action: SuggestedAction; version: number | undefined }): ReactElement {
  const [dialogOpen, setDialogOpen] = useState(false);
  const guard = useVersionGuard(version, dialogOpen, JSON.stringify([action.target, action.toolsets]));
  const mutation = useApiMutation({ silent: true, guard });
  // The open dialog keeps its original values. After a rejection it asks again with the current ones.
  const [target, toolsets] = guard.rejected ? ([action.target, action.toolsets] as const) : (JSON.parse(guard.snapshot) as [string, string[]]);
  const close = (): void => setDialogOpen(false);
  return (
    <>
      <Button variant="primary" small onClick={() => setDialogOpen(true)}>
        {action.label}
      </Button>
      {dialogOpen && (
        <Dialog
          open
          onClose={close}
          title={action.label}
          actions={
            <>
              <ButtonLink variant="ghost" to="/settings" query={{ tab: "people", id: target }}>
                All that {target} may use
              </ButtonLink>
              <span className="grow" />
              <Button onClick={close}>Cancel</Button>
              <Button
                variant="primary"
                busy={mutation.isPending}
                disabled={(version ?? 0) < guard.version}
                onClick={() =>
                  mutation.mutate(
                    {
                      method: "PUT",
                      path: `/principals/${encodeURIComponent(target)}/grants`,
                      body: { toolsets },
                      successMessage: `${target} may use ${toolsets.join(", ")}`,
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
            <ConcurrentChangeNotice guard={guard} unchanged="Nothing was granted here yet." />
            <p>
              <b>{target}</b> may then use exactly: {toolsets.join(", ")}.
            </p>
            <Code text={shellCommand("pegboard", "grants", "set", target, ...toolsets)} />
            {mutation.error && !mutation.error.isStale && <ErrorMessage error={mutation.error} />}
          </div>
        </Dialog>
      )}
    </>
  );
}
