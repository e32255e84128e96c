/** Edits a tool's override: texts, confirmation, hidden and pinned arguments. The gateway computes the preview, and
 * saving shows the difference first. A draft is based on the state its author saw; changes by others are shown as
 * conflicts. */
import { useEffect, useMemo, useState, type ReactElement } from "react";
import { useApiQuery } from "@/api/queries";
import { request } from "@/api/client";
import { useHasScope } from "@/api/session";
import type { ResponseOf, ToolCard } from "@/api/types";
import { formatList } from "@/lib/format";
import { QueryResult, Button, Field, Notice, SectionDiff, Select, Skeleton, Tag, TextArea, ErrorMessage } from "@/components";
import { overrideChanges, editFromOverrides, parseConfig, DEFAULT_RENDERER, hasNoChanges, isOwnOverride, EMPTY_ARGUMENT, inheritedTexts, missingPins, withRenderer, type ArgumentEdit, type OverrideChanges, type OverrideEdit } from "./override-edit";
import { EditConflict } from "./EditConflict";
import { mergeDraft, findConflicts, type BaseState, type Draft } from "./edit-conflict";
import { SaveOverrideDialog } from "./SaveOverrideDialog";
import { fixingOverride, shortOrigin, originText, pinText, type OverridePreview, type OverrideEntry, type ToolDefinitionResponse, type WhyResponse } from "./types";

type DraftProps = { readonly draft: Draft | null; readonly onDraft: (draft: Draft | null) => void };

export function OverrideTab({ tool, definition, ...draftProps }: { tool: ToolCard; definition: ToolDefinitionResponse } & DraftProps): ReactElement {
  // Without a caller: an override applies to everyone.
  const why = useApiQuery<WhyResponse>(["board", "policy"], "/why", { tool: tool.id });
  return (
    <QueryResult query={why} placeholder={<Skeleton lines={10} height={32} />}>
      {(response) => (
        <OverrideForm
          tool={tool}
          definition={definition}
          current={{ overrides: response.overrides, version: response.policyVersion }}
          onRefresh={async () => {
            const { data } = await why.refetch();
            return data === undefined ? null : { overrides: data.overrides, version: data.policyVersion };
          }}
          {...draftProps}
        />
      )}
    </QueryResult>
  );
}

const CONFIRM_OPTIONS = [
  { value: "", label: "As it is" },
  { value: "yes", label: "Ask a person before each call" },
  { value: "no", label: "Do not ask" },
];
const CONFIRMED_AT_OPTIONS = [
  { value: "", label: "As the board and the caller are set" },
  { value: "in_client", label: "The client, where its answers count" },
  { value: "ticket", label: "A ticket, always" },
];
const ARGUMENT_MODES = [
  { value: "", label: "As offered" },
  { value: "hide", label: "Hidden" },
  { value: "pin", label: "Pinned" },
];

function OverrideForm({
  tool,
  definition,
  current,
  onRefresh,
  draft: savedDraft,
  onDraft,
}: { tool: ToolCard; definition: ToolDefinitionResponse; current: BaseState; onRefresh: () => Promise<BaseState | null> } & DraftProps): ReactElement {
  const properties = definition.asOffered.inputSchema["properties"];
  const names = useMemo(() => Object.keys(typeof properties === "object" && properties !== null ? properties : {}), [properties]);
  const inherited = useMemo(() => inheritedTexts(current.overrides, tool.id, definition.asOffered), [current.overrides, tool.id, definition.asOffered]);
  // Without edits the form follows the current state; a draft keeps its base until conflicts are resolved.
  const draft = savedDraft !== null && hasUnsavedChanges(savedDraft, tool.id, names) ? savedDraft : { base: current, edit: editFromOverrides(current.overrides, tool.id, names) };
  const [isSaved, setIsSaved] = useState(false);
  // The change that was just saved here is not a conflict.
  const conflicts = isSaved ? [] : findConflicts(draft, current, tool.id, names);
  const before = useMemo(() => editFromOverrides(draft.base.overrides, tool.id, names), [draft.base.overrides, tool.id, names]);
  const { edit } = draft;
  const setEdit = (next: OverrideEdit): void => onDraft({ base: conflicts.length === 0 ? current : draft.base, edit: next });
  const [saveOpen, setSaveOpen] = useState(false);
  const canOperate = useHasScope("operate");
  const changes = overrideChanges(before, edit, inherited);
  const pinsToWrite = missingPins(before, edit);
  const isComplete = pinsToWrite.newPins.length + pinsToWrite.savedPins.length === 0 && (edit.renderer === "" || parseConfig(edit.config) !== null);
  const ready = !hasNoChanges(changes) && isComplete;
  const preview = usePreview(tool.id, ready ? changes : null);
  const canSave = canOperate && ready && conflicts.length === 0 && preview.data !== null && preview.data.problems.length === 0;
  const argumentEdit = (name: string): ArgumentEdit => edit.arguments[name] ?? EMPTY_ARGUMENT;
  const setArgument = (name: string, change: Partial<ArgumentEdit>): void =>
    setEdit({ ...edit, arguments: { ...edit.arguments, [name]: { ...argumentEdit(name), ...change } } });
  const inheritedOverride = (field: string): OverrideEntry | undefined => current.overrides.find((entry) => entry.field === field && !isOwnOverride(entry, tool.id));
  const withSource = (field: string, hint: string): string => {
    const entry = inheritedOverride(field);
    return entry === undefined ? hint : `${hint} ${shortOrigin(entry)} has words of its own for it: what you write lies over them.`;
  };
  return (
    <form
      className="stack"
      onSubmit={(event) => {
        event.preventDefault();
        if (canSave) setSaveOpen(true);
      }}
    >
      {conflicts.length > 0 && <EditConflict conflicts={conflicts} onResolve={(keptFields) => onDraft(mergeDraft(draft, current, tool.id, names, keptFields))} />}
      <Field label="Name for people" value={edit.name} onChange={(name) => setEdit({ ...edit, name })} placeholder={inherited.name || tool.name} hint={withSource("name_override", "Models keep the name of its id.")} maxLength={200} />
      <div className="stack tight">
        <TextArea label="Description" value={edit.description} onChange={(description) => setEdit({ ...edit, description })} placeholder={inherited.description} rows={4} hint={withSource("description_override", "What models read in place of its provider's words.")} />
        {edit.description.trim() === "" && inherited.description !== "" && (
          <div className="row">
            <Button small icon="pencil" onClick={() => setEdit({ ...edit, description: inherited.description })}>
              {inheritedOverride("description_override") === undefined ? "Start from the provider's words" : "Start from the words that hold now"}
            </Button>
          </div>
        )}
      </div>
      <Select
        label="Before a call"
        value={edit.confirm}
        onChange={(confirm) => setEdit({ ...edit, confirm: confirm as OverrideEdit["confirm"] })}
        options={CONFIRM_OPTIONS}
        {...confirmHint(inheritedOverride("requires_confirmation"))}
      />
      <Select
        label="Confirmed at"
        value={edit.confirmation}
        onChange={(confirmation) => setEdit({ ...edit, confirmation: confirmation as OverrideEdit["confirmation"] })}
        options={CONFIRMED_AT_OPTIONS}
        hint="An operator decides a ticket. It is enough that the board, the caller or the tool is set to tickets."
      />
      <RendererFields edit={edit} before={before} inherited={inheritedOverride("renderer")} onChange={setEdit} />
      {names.length > 0 && (
        <fieldset className="form-group">
          <legend className="field-label">Arguments</legend>
          <ul className="stack">
            {names.map((name) => {
              const fixed = fixingOverride(current.overrides, name);
              if (fixed?.declared === true) return <FixedArgumentRow key={name} name={name} entry={fixed} />;
              return (
                <li key={name} className="argument-edit">
                  <code className="wrap-any">{name}</code>
                  <Select label={`What becomes of ${name}`} hideLabel value={argumentEdit(name).mode} onChange={(how) => setArgument(name, { mode: how as ArgumentEdit["mode"] })} options={ARGUMENT_MODES} />
                  {argumentEdit(name).mode === "pin" ? (
                    <Field label={`Value of ${name}`} hideLabel mono value={argumentEdit(name).pin} onChange={(pin) => setArgument(name, { pin })} placeholder={before.arguments[name]?.mode === "pin" ? "pinned; write it again to change" : "its value, as JSON or text"} />
                  ) : (
                    <Field label={`Words for ${name}`} hideLabel value={argumentEdit(name).description} onChange={(description) => setArgument(name, { description })} placeholder={inherited.arguments[name] || "other words for a model"} />
                  )}
                  {fixed !== undefined && !isOwnOverride(fixed, tool.id) && (
                    <p className="muted small argument-source wrap-any">
                      {fixed.field.endsWith(".pin") ? "Pinned" : "Hidden"} by {shortOrigin(fixed)} for <code>{fixed.target}</code>; what you choose here lies over it.
                    </p>
                  )}
                </li>
              );
            })}
          </ul>
        </fieldset>
      )}
      {pinsToWrite.newPins.length > 0 && <Notice tone="needs_action">Write the value to pin for {formatList(pinsToWrite.newPins)}: every call is then sent with it.</Notice>}
      {pinsToWrite.savedPins.length > 0 && (
        <Notice tone="needs_action">Write the pinned value of {formatList(pinsToWrite.savedPins)} again: it is never shown, and an edit of an argument says all of it.</Notice>
      )}
      {hasNoChanges(changes) && isComplete && <p className="muted">Change something, and what a model would see appears here before anything is saved.</p>}
      {preview.error !== null && <ErrorMessage error={preview.error} />}
      {preview.data !== null && <PreviewResult preview={preview.data} />}
      <div className="row">
        <Button variant="primary" type="submit" disabled={!canSave}>
          Save…
        </Button>
        <Button onClick={() => onDraft(null)} disabled={savedDraft === null || !hasUnsavedChanges(savedDraft, tool.id, names)}>
          Start over
        </Button>
        {!canOperate && <span className="muted small">Your token may look, not change.</span>}
        {canOperate && conflicts.length > 0 && <span className="muted small">Choose above first.</span>}
      </div>
      {saveOpen && preview.data !== null && (
        <SaveOverrideDialog
          tool={tool}
          changes={changes}
          version={current.version}
          conflicts={conflicts}
          onRefresh={onRefresh}
          onClose={() => setSaveOpen(false)}
          onSaved={async () => {
            setIsSaved(true);
            await onRefresh();
            onDraft(null);
            setIsSaved(false);
            setSaveOpen(false);
          }}
        >
          <PreviewResult preview={preview.data} />
        </SaveOverrideDialog>
      )}
    </form>
  );
}

/** Whether there is anything to save or to lose. */
function hasUnsavedChanges(draft: Draft, target: string, names: readonly string[]): boolean {
  const before = editFromOverrides(draft.base.overrides, target, names);
  const { newPins, savedPins } = missingPins(before, draft.edit);
  return !hasNoChanges(overrideChanges(before, draft.edit)) || newPins.length + savedPins.length > 0;
}

/** How a person is shown a call. The gateway defines and checks the configuration. */
function RendererFields({
  edit,
  before,
  inherited,
  onChange,
}: {
  edit: OverrideEdit;
  before: OverrideEdit;
  inherited: OverrideEntry | undefined;
  onChange: (edit: OverrideEdit) => void;
}): ReactElement {
  const response = useApiQuery<ResponseOf<"/renderers">>([], "/renderers");
  const renderers = response.data?.renderers ?? [];
  const selectedRenderer = renderers.find((each) => each.name === edit.renderer);
  const keys = Object.entries((selectedRenderer?.configSchema["properties"] ?? {}) as Readonly<Record<string, { readonly description?: string; readonly default?: unknown }>>);
  // The saved renderer stays an option until the list is loaded.
  const names = [...new Set([...renderers.map((each) => each.name), edit.renderer, before.renderer])].filter((name) => name !== "" && name !== DEFAULT_RENDERER);
  return (
    <div className="stack tight">
      <Select
        label="Shown as"
        value={edit.renderer}
        onChange={(renderer) => onChange(withRenderer(edit, before, renderer))}
        options={[{ value: "", label: "As it is" }, { value: DEFAULT_RENDERER, label: "As every other call" }, ...names.map((name) => ({ value: name, label: name }))]}
        hint={selectedRenderer?.description ?? (inherited === undefined ? "How a person is shown a call of it." : `${shortOrigin(inherited)} says: ${String(inherited.value)}. What you choose here lies over it.`)}
      />
      {edit.renderer !== "" && edit.renderer !== DEFAULT_RENDERER && (
        <>
          <TextArea
            label="Renderer configuration"
            mono
            rows={4}
            value={edit.config ?? ""}
            onChange={(config) => onChange({ ...edit, config })}
            placeholder="{}"
            hint="A JSON object, or empty for what is usual. A text may refer to the call: $args.name, $return.rows[0]."
            error={parseConfig(edit.config) === null ? "This is no JSON object yet." : null}
          />
          {keys.length > 0 && (
            <dl className="pairs" aria-label={`What ${edit.renderer} takes`}>
              {keys.map(([name, schema]) => (
                <div key={name}>
                  <dt className="mono">{name}</dt>
                  <dd className="wrap-any">
                    {schema.description}
                    {schema.default !== undefined && (
                      <span className="muted">
                        {" "}
                        Usually <code>{typeof schema.default === "string" ? schema.default : JSON.stringify(schema.default)}</code>.
                      </span>
                    )}
                  </dd>
                </div>
              ))}
            </dl>
          )}
        </>
      )}
      {response.error && <ErrorMessage error={response.error} />}
    </div>
  );
}

function confirmHint(inherited: OverrideEntry | undefined): { readonly hint?: string } {
  return inherited === undefined ? {} : { hint: `${shortOrigin(inherited)} says: ${inherited.value === true ? "ask a person before each call" : "do not ask"}. What you choose here lies over it.` };
}

/** What a file pins or hides belongs to the operator: an override cannot loosen it. */
function FixedArgumentRow({ name, entry }: { name: string; entry: OverrideEntry }): ReactElement {
  const isPin = entry.field.endsWith(".pin");
  return (
    <li className="argument-edit">
      <code className="wrap-any">{name}</code>
      <span>
        <Tag>{isPin ? "Pinned" : "Hidden"}</Tag>
      </span>
      <span className="wrap-any small">
        {isPin && (
          <>
            <code>{pinText(entry)}</code>,{" "}
          </>
        )}
        by <code title={originText(entry)}>{shortOrigin(entry)}</code>: only an edit of the file changes it.
      </span>
    </li>
  );
}

/** Fetched a moment after the last keystroke. */
function usePreview(tool: string, changes: OverrideChanges | null): { readonly data: OverridePreview | null; readonly error: unknown } {
  const [result, setResult] = useState<{ data: OverridePreview | null; error: unknown }>({ data: null, error: null });
  const body = changes === null ? null : JSON.stringify({ target: tool, ...changes });
  useEffect(() => {
    if (body === null) {
      setResult({ data: null, error: null });
      return;
    }
    const controller = new AbortController();
    const timer = setTimeout(() => {
      request<OverridePreview>("/overrides/preview", { method: "POST", body: JSON.parse(body) as unknown, signal: controller.signal })
        .then((data) => setResult({ data, error: null }))
        .catch((error: unknown) => {
          if (!controller.signal.aborted) setResult({ data: null, error });
        });
    }, 200);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [body]);
  return result;
}

function PreviewResult({ preview }: { preview: OverridePreview }): ReactElement {
  return (
    <section className="stack preview" aria-label="Preview" aria-live="polite">
      <h2>What a model would see</h2>
      {preview.problems.map((each) => (
        <Notice key={each} tone="broken">
          {each}
        </Notice>
      ))}
      {preview.withoutEffect.map((each) => (
        <Notice key={`${each.tool} ${each.field}`} tone="needs_action">
          <code>{each.field}</code> has no effect: {each.reason}
        </Notice>
      ))}
      {preview.mismatches.map((each) => (
        <Notice key={`${each.field} ${each.message}`} tone="needs_action">
          <code>{each.field}</code>: {each.message}
        </Notice>
      ))}
      {preview.tools.flatMap((tool) => tool.difference.map((section) => <SectionDiff key={`${tool.id} ${section.section}`} section={section} />))}
      {preview.problems.length === 0 && preview.tools.every((tool) => tool.difference.length === 0) && (
        <p className="muted">Models see the same words as before.</p>
      )}
    </section>
  );
}
