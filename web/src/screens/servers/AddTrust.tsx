/** Step three: the name it has here, the toolset it joins, and when its tools wait for a person. */
import { useId, type ReactElement, type ReactNode } from "react";
import { useToolsets, type Trust } from "@/api/servers";
import { Field, Notice, Trouble } from "@/parts";
import type { Picked } from "./picking";
import { TrustChoice } from "./TrustChoice";

export function AddTrust({
  picked,
  amend,
  trust,
  setTrust,
  actions,
}: {
  picked: readonly Picked[];
  amend: (key: string, change: Partial<Picked>) => void;
  trust: Trust;
  setTrust: (trust: Trust) => void;
  actions: ReactNode;
}): ReactElement {
  const list = useId();
  const toolsets = useToolsets().data?.toolsets ?? [];
  return (
    <div className="stack wide add-trust">
      <section className="sheet">
        <h2>When its tools wait for you</h2>
        <TrustChoice value={trust} onChange={setTrust} />
      </section>
      {picked.map((pick) => (
        <section key={pick.key} className="sheet stack" aria-label={pick.read.name}>
          <h2 className="wrap-any">{pick.read.name}</h2>
          <div className="thirds">
            <Field label="Id" mono value={pick.id} onChange={(id) => amend(pick.key, { id })} advice="Small letters, digits, - and _. It is part of every tool's id." />
            <Field
              label="Toolset"
              mono
              value={pick.toolset}
              onChange={(toolset) => amend(pick.key, { toolset })}
              list={list}
              placeholder={pick.id}
              advice="Empty: one of its own, shown under MCP Servers."
            />
          </div>
          {pick.tried?.thereAlready != null && (
            <Notice tone="wants">
              <span className="wrap-any">A server of this id is on the board already ({pick.tried.thereAlready}). Give this one another id.</span>
            </Notice>
          )}
          {pick.added && <Notice tone="open">It is added.</Notice>}
          {pick.error !== null && <Trouble error={pick.error} />}
        </section>
      ))}
      <datalist id={list}>
        {toolsets.map((toolset) => (
          <option key={toolset.id} value={toolset.id} />
        ))}
      </datalist>
      <div className="row">{actions}</div>
    </div>
  );
}
