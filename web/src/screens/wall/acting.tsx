/** The one thing that unlocks a tool, as the gateway named it: a button, a way to where it is done, or a place in a file. */
import type { ReactElement } from "react";
import { useDeed } from "@/api/answers";
import { useMay } from "@/api/session";
import type { Peg } from "@/api/types";
import { Button, ButtonLink, CopyButton } from "@/parts";

export function Unlocking({ peg, version, onWiden }: { peg: Peg; version: number; onWiden: () => void }): ReactElement | null {
  const deed = useDeed();
  const operates = useMay("operate");
  const admin = useMay("admin");
  const { kind, target, label } = peg.action;
  const act = (path: string, body: unknown, done: string): ReactElement | null =>
    operates ? (
      <Button look="main" small busy={deed.isPending} onClick={() => deed.mutate({ path, body, version, done })}>
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
      return admin ? lead("/settings", { tab: "people", id: target }) : null;
    case "widen":
      return (
        <Button look="main" small onClick={onWiden}>
          {label}
        </Button>
      );
    case "edit_file":
      return (
        <span className="row tight small">
          <span>{label}:</span>
          <code className="wrap-any">{target}</code>
          <CopyButton text={target} />
        </span>
      );
    case "none":
      return null;
  }
}
