/** Shows the board as another caller gets it. The gateway resolves the board for that principal and narrowing. */
import { useState, type ReactElement } from "react";
import { useApiQuery } from "@/api/queries";
import type { BoardToolset, Principals } from "@/api/types";
import type { Query } from "@/lib/router";
import { updateQuery, useListParam, useParam } from "@/lib/router";
import { shellCommand, formatList } from "@/lib/format";
import { Button, Checkbox, Dialog, Field, TextArea } from "@/components";

export const LOCAL_PRINCIPAL = "local";
const NARROWING_PARAMS = ["toolsets", "enabled", "disabled"];

export type CallerView = {
  readonly principal: string;
  readonly toolsets: readonly string[];
  readonly enabled: readonly string[];
  readonly disabled: readonly string[];
  /** The query parameters for routes that take a view. */
  readonly query: Query;
  readonly options: readonly string[];
  readonly isDefault: boolean;
};

export function useCallerView(): CallerView {
  const [principal] = useParam("as", LOCAL_PRINCIPAL);
  const [toolsets] = useListParam("toolsets");
  const [enabled] = useListParam("enabled");
  const [disabled] = useListParam("disabled");
  const options = [
    ...(principal === LOCAL_PRINCIPAL ? [] : ["--as", principal]),
    ...(toolsets.length > 0 ? ["--toolsets", toolsets.join(",")] : []),
    ...(enabled.length > 0 ? ["--enabled-tools", enabled.join(",")] : []),
    ...(disabled.length > 0 ? ["--disabled-tools", disabled.join(",")] : []),
  ];
  return {
    principal,
    toolsets,
    enabled,
    disabled,
    options,
    isDefault: principal === LOCAL_PRINCIPAL && toolsets.length + enabled.length + disabled.length === 0,
    query: {
      ...(principal === LOCAL_PRINCIPAL ? {} : { as: principal }),
      toolsets,
      enabled_tools: enabled,
      disabled_tools: disabled,
    },
  };
}

export function listCommand(view: CallerView, filters: readonly string[]): string {
  return shellCommand("pegboard", "tools", "list", ...filters, ...view.options);
}

/** Keeps the caller and removes the narrowing. */
export function clearNarrowing(): void {
  updateQuery((query) => {
    for (const name of NARROWING_PARAMS) query.delete(name);
  });
}

function resetView(): void {
  updateQuery((query) => {
    for (const name of ["as", ...NARROWING_PARAMS]) query.delete(name);
  });
}

function describeView(view: CallerView): string {
  const narrowed = [
    ...(view.toolsets.length > 0 ? [`only ${formatList(view.toolsets)}`] : []),
    ...(view.enabled.length > 0 ? [`with ${formatList(view.enabled)}`] : []),
    ...(view.disabled.length > 0 ? [`without ${formatList(view.disabled)}`] : []),
  ];
  return narrowed.length === 0 ? view.principal : `${view.principal}, ${narrowed.join(", ")}`;
}

export function ViewAs({ view, toolsets }: { view: CallerView; toolsets: readonly BoardToolset[] }): ReactElement {
  const [open, setOpen] = useState(false);
  return (
    <>
      <Button icon="eye" onClick={() => setOpen(true)} aria-label={`Seen by ${describeView(view)}. Change`}>
        <span className="muted">Seen by</span> {describeView(view)}
      </Button>
      {!view.isDefault && (
        <Button variant="ghost" icon="close" onClick={resetView}>
          As I am
        </Button>
      )}
      {open && <ViewAsDialog view={view} toolsets={toolsets} onClose={() => setOpen(false)} />}
    </>
  );
}

function ViewAsDialog({ view, toolsets, onClose }: { view: CallerView; toolsets: readonly BoardToolset[]; onClose: () => void }): ReactElement {
  const principals = useApiQuery<Principals>(["tokens", "policy"], "/principals").data;
  const [principal, setPrincipal] = useState(view.principal);
  const [selected, setSelected] = useState(view.toolsets);
  const [enabledText, setEnabledText] = useState(view.enabled.join("\n"));
  const [disabledText, setDisabledText] = useState(view.disabled.join("\n"));
  const names = [...new Set([LOCAL_PRINCIPAL, ...(principals?.principals ?? []).map(({ id }) => id), view.principal])];
  const parseIds = (text: string): readonly string[] => text.split(/[\s,]+/).filter(Boolean);
  const apply = (): void => {
    updateQuery((query) => {
      for (const name of ["as", "toolsets", "enabled", "disabled"]) query.delete(name);
      if (principal.trim() !== LOCAL_PRINCIPAL && principal.trim() !== "") query.set("as", principal.trim());
      for (const id of selected) query.append("toolsets", id);
      for (const id of parseIds(enabledText)) query.append("enabled", id);
      for (const id of parseIds(disabledText)) query.append("disabled", id);
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
          <Button variant="primary" icon="eye" onClick={apply}>
            Look
          </Button>
        </>
      }
    >
      <div className="stack">
        <p className="muted">The wall as another caller gets it: the gateway decides every tool anew for them.</p>
        <Field label="Principal" value={principal} onChange={setPrincipal} list="view-principals" autoComplete="on" />
        <datalist id="view-principals">
          {names.map((name) => (
            <option key={name} value={name} />
          ))}
        </datalist>
        <fieldset className="form-group">
          <legend className="field-label">Narrowed to</legend>
          <p className="field-hint">Without a choice it is every toolset they may use.</p>
          <div className="board-toolset-options">
            {toolsets.map((toolset) => (
              <Checkbox
                key={toolset.id}
                label={toolset.title}
                checked={selected.includes(toolset.id)}
                onChange={(on) => setSelected(on ? [...selected, toolset.id] : selected.filter((id) => id !== toolset.id))}
              />
            ))}
          </div>
        </fieldset>
        <TextArea label="And these tools" value={enabledText} onChange={setEnabledText} rows={1} mono hint="Ids, one a line: enabled_tools." />
        <TextArea label="But not these" value={disabledText} onChange={setDisabledText} rows={1} mono hint="Ids, one a line: disabled_tools." />
      </div>
    </Dialog>
  );
}
