/** Whose wall this is: a principal and a narrowing. The gateway resolves the board as that caller. */
import { useState, type ReactElement } from "react";
import { useAnswer } from "@/api/answers";
import type { BoardToolset, Principals } from "@/api/types";
import type { Query } from "@/lib/place";
import { amend, useListParam, useParam } from "@/lib/place";
import { command, listed } from "@/lib/words";
import { Button, Check, Dialog, Field, TextArea } from "@/parts";

export const LOCAL = "local";
const NARROWING = ["toolsets", "enabled", "disabled"];

export type View = {
  readonly principal: string;
  readonly toolsets: readonly string[];
  readonly added: readonly string[];
  readonly taken: readonly string[];
  /** What the routes that take a view are asked with. */
  readonly query: Query;
  readonly words: readonly string[];
  readonly isPlain: boolean;
};

export function useView(): View {
  const [principal] = useParam("as", LOCAL);
  const [toolsets] = useListParam("toolsets");
  const [added] = useListParam("enabled");
  const [taken] = useListParam("disabled");
  const words = [
    ...(principal === LOCAL ? [] : ["--as", principal]),
    ...(toolsets.length > 0 ? ["--toolsets", toolsets.join(",")] : []),
    ...(added.length > 0 ? ["--enabled-tools", added.join(",")] : []),
    ...(taken.length > 0 ? ["--disabled-tools", taken.join(",")] : []),
  ];
  return {
    principal,
    toolsets,
    added,
    taken,
    words,
    isPlain: principal === LOCAL && toolsets.length + added.length + taken.length === 0,
    query: {
      ...(principal === LOCAL ? {} : { as: principal }),
      toolsets,
      enabled_tools: added,
      disabled_tools: taken,
    },
  };
}

export function viewCommand(view: View, filters: readonly string[]): string {
  return command("pegboard", "tools", "list", ...filters, ...view.words);
}

/** The same caller, without what the request was narrowed to. */
export function widen(): void {
  amend((query) => {
    for (const name of NARROWING) query.delete(name);
  });
}

function asIAm(): void {
  amend((query) => {
    for (const name of ["as", ...NARROWING]) query.delete(name);
  });
}

function spoken(view: View): string {
  const narrowed = [
    ...(view.toolsets.length > 0 ? [`only ${listed(view.toolsets)}`] : []),
    ...(view.added.length > 0 ? [`with ${listed(view.added)}`] : []),
    ...(view.taken.length > 0 ? [`without ${listed(view.taken)}`] : []),
  ];
  return narrowed.length === 0 ? view.principal : `${view.principal}, ${narrowed.join(", ")}`;
}

export function SeenBy({ view, toolsets }: { view: View; toolsets: readonly BoardToolset[] }): ReactElement {
  const [open, setOpen] = useState(false);
  return (
    <>
      <Button icon="eye" onClick={() => setOpen(true)} aria-label={`Seen by ${spoken(view)}. Change`}>
        <span className="quiet">Seen by</span> {spoken(view)}
      </Button>
      {!view.isPlain && (
        <Button look="bare" icon="close" onClick={asIAm}>
          As I am
        </Button>
      )}
      {open && <Choosing view={view} toolsets={toolsets} onClose={() => setOpen(false)} />}
    </>
  );
}

function Choosing({ view, toolsets, onClose }: { view: View; toolsets: readonly BoardToolset[]; onClose: () => void }): ReactElement {
  const known = useAnswer<Principals>(["tokens", "policy"], "/principals").data;
  const [principal, setPrincipal] = useState(view.principal);
  const [chosen, choose] = useState(view.toolsets);
  const [added, setAdded] = useState(view.added.join("\n"));
  const [taken, setTaken] = useState(view.taken.join("\n"));
  const names = [...new Set([LOCAL, ...(known?.principals ?? []).map(({ id }) => id), view.principal])];
  const tools = (text: string): readonly string[] => text.split(/[\s,]+/).filter(Boolean);
  const look = (): void => {
    amend((query) => {
      for (const name of ["as", "toolsets", "enabled", "disabled"]) query.delete(name);
      if (principal.trim() !== LOCAL && principal.trim() !== "") query.set("as", principal.trim());
      for (const id of chosen) query.append("toolsets", id);
      for (const id of tools(added)) query.append("enabled", id);
      for (const id of tools(taken)) query.append("disabled", id);
    });
    onClose();
  };
  return (
    <Dialog
      open
      onClose={onClose}
      title="Seen by"
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="main" icon="eye" onClick={look}>
            Look
          </Button>
        </>
      }
    >
      <div className="stack">
        <p className="quiet">The wall as another caller gets it: the gateway decides every tool anew for them.</p>
        <Field label="Principal" value={principal} onChange={setPrincipal} list="wall-principals" autoComplete="on" />
        <datalist id="wall-principals">
          {names.map((name) => (
            <option key={name} value={name} />
          ))}
        </datalist>
        <fieldset className="form-group">
          <legend className="field-label">Narrowed to</legend>
          <p className="field-advice">Without a choice it is every toolset they may use.</p>
          <div className="wall-toolsets">
            {toolsets.map((toolset) => (
              <Check
                key={toolset.id}
                label={toolset.title}
                on={chosen.includes(toolset.id)}
                onChange={(on) => choose(on ? [...chosen, toolset.id] : chosen.filter((id) => id !== toolset.id))}
              />
            ))}
          </div>
        </fieldset>
        <TextArea label="And these tools" value={added} onChange={setAdded} rows={1} mono advice="Ids, one a line: enabled_tools." />
        <TextArea label="But not these" value={taken} onChange={setTaken} rows={1} mono advice="Ids, one a line: disabled_tools." />
      </div>
    </Dialog>
  );
}
