/** Other words, a person's yes before each call, arguments that are hidden or pinned. The preview is made by the gateway;
 * saving shows the difference first. A draft stands on what its writer saw: what somebody else saves meanwhile is told. */
import { useEffect, useMemo, useState, type ReactElement } from "react";
import { useAnswer } from "@/api/answers";
import { ask } from "@/api/client";
import { useMay } from "@/api/session";
import type { Answer, Peg } from "@/api/types";
import { listed } from "@/lib/words";
import { Answered, Button, Field, Notice, SectionDiff, Select, Skeleton, Tag, TextArea, Trouble } from "@/parts";
import { asked, begun, configOf, DEFAULT_RENDERER, isNothing, isOwn, NOTHING, plainWords, unwritten, withRenderer, type ArgumentEdit, type Asked, type Edit } from "./editing";
import { Meeting } from "./Meeting";
import { met, moved, type Base, type Draft } from "./meeting";
import { Saving } from "./Saving";
import { fixedBy, originShort, originWords, pinWords, type Preview, type Said, type Shown, type Why } from "./told";

type Drafting = { readonly draft: Draft | null; readonly onDraft: (draft: Draft | null) => void };

export function Override({ peg, shown, ...drafting }: { peg: Peg; shown: Shown } & Drafting): ReactElement {
  // As nobody in particular: an override holds for everyone.
  const why = useAnswer<Why>(["board", "policy"], "/why", { tool: peg.id });
  return (
    <Answered of={why} waiting={<Skeleton lines={10} height={32} />}>
      {(answer) => (
        <Editing
          peg={peg}
          shown={shown}
          now={{ said: answer.overrides, version: answer.policyVersion }}
          onLookAgain={async () => {
            const { data } = await why.refetch();
            return data === undefined ? null : { said: data.overrides, version: data.policyVersion };
          }}
          {...drafting}
        />
      )}
    </Answered>
  );
}

const CONFIRM = [
  { value: "", label: "As it is" },
  { value: "yes", label: "Ask a person before each call" },
  { value: "no", label: "Do not ask" },
];
const CONFIRMED_AT = [
  { value: "", label: "As the board and the caller are set" },
  { value: "in_client", label: "The client, where its answers count" },
  { value: "ticket", label: "A ticket, always" },
];
const HOW = [
  { value: "", label: "As offered" },
  { value: "hide", label: "Hidden" },
  { value: "pin", label: "Pinned" },
];

function Editing({
  peg,
  shown,
  now,
  onLookAgain,
  draft: held,
  onDraft,
}: { peg: Peg; shown: Shown; now: Base; onLookAgain: () => Promise<Base | null> } & Drafting): ReactElement {
  const properties = shown.asOffered.inputSchema["properties"];
  const names = useMemo(() => Object.keys(typeof properties === "object" && properties !== null ? properties : {}), [properties]);
  const plain = useMemo(() => plainWords(now.said, peg.id, shown.asOffered), [now.said, peg.id, shown.asOffered]);
  // Who wrote nothing yet looks at what holds now; who did, at what they began with until they have read what moved.
  const draft = held !== null && isTouched(held, peg.id, names) ? held : { base: now, edit: begun(now.said, peg.id, names) };
  const [settling, setSettling] = useState(false);
  // What was just saved here is no news to who saved it.
  const others = settling ? [] : moved(draft, now, peg.id, names);
  const before = useMemo(() => begun(draft.base.said, peg.id, names), [draft.base.said, peg.id, names]);
  const { edit } = draft;
  const setEdit = (next: Edit): void => onDraft({ base: others.length === 0 ? now : draft.base, edit: next });
  const [saving, setSaving] = useState(false);
  const operates = useMay("operate");
  const wanted = asked(before, edit, plain);
  const wanting = unwritten(before, edit);
  const isWritten = wanting.first.length + wanting.again.length === 0 && (edit.renderer === "" || configOf(edit.config) !== null);
  const ready = !isNothing(wanted) && isWritten;
  const preview = usePreview(peg.id, ready ? wanted : null);
  const may = operates && ready && others.length === 0 && preview.answer !== null && preview.answer.problems.length === 0;
  const one = (name: string): ArgumentEdit => edit.arguments[name] ?? NOTHING;
  const set = (name: string, change: Partial<ArgumentEdit>): void =>
    setEdit({ ...edit, arguments: { ...edit.arguments, [name]: { ...one(name), ...change } } });
  const below = (field: string): Said | undefined => now.said.find((said) => said.field === field && !isOwn(said, peg.id));
  const source = (field: string, words: string): string => {
    const said = below(field);
    return said === undefined ? words : `${words} ${originShort(said)} has words of its own for it: what you write lies over them.`;
  };
  return (
    <form
      className="stack"
      onSubmit={(event) => {
        event.preventDefault();
        if (may) setSaving(true);
      }}
    >
      {others.length > 0 && <Meeting others={others} onMet={(kept) => onDraft(met(draft, now, peg.id, names, kept))} />}
      <Field label="Name for people" value={edit.name} onChange={(name) => setEdit({ ...edit, name })} placeholder={plain.name || peg.name} advice={source("name_override", "Models keep the name of its id.")} maxLength={200} />
      <div className="stack tight">
        <TextArea label="Description" value={edit.description} onChange={(description) => setEdit({ ...edit, description })} placeholder={plain.description} rows={4} advice={source("description_override", "What models read in place of its provider's words.")} />
        {edit.description.trim() === "" && plain.description !== "" && (
          <div className="row">
            <Button small icon="pencil" onClick={() => setEdit({ ...edit, description: plain.description })}>
              {below("description_override") === undefined ? "Start from the provider's words" : "Start from the words that hold now"}
            </Button>
          </div>
        )}
      </div>
      <Select
        label="Before a call"
        value={edit.confirm}
        onChange={(confirm) => setEdit({ ...edit, confirm: confirm as Edit["confirm"] })}
        choices={CONFIRM}
        {...confirmAdvice(below("requires_confirmation"))}
      />
      <Select
        label="Confirmed at"
        value={edit.confirmation}
        onChange={(confirmation) => setEdit({ ...edit, confirmation: confirmation as Edit["confirmation"] })}
        choices={CONFIRMED_AT}
        advice="An operator decides a ticket. It is enough that the board, the caller or the tool is set to tickets."
      />
      <RendererFields edit={edit} before={before} below={below("renderer")} onChange={setEdit} />
      {names.length > 0 && (
        <fieldset className="form-group">
          <legend className="field-label">Arguments</legend>
          <ul className="stack">
            {names.map((name) => {
              const fixed = fixedBy(now.said, name);
              if (fixed?.declared === true) return <Settled key={name} name={name} said={fixed} />;
              return (
                <li key={name} className="argument-edit">
                  <code className="wrap-any">{name}</code>
                  <Select label={`What becomes of ${name}`} unlabelled value={one(name).how} onChange={(how) => set(name, { how: how as ArgumentEdit["how"] })} choices={HOW} />
                  {one(name).how === "pin" ? (
                    <Field label={`Value of ${name}`} unlabelled mono value={one(name).pin} onChange={(pin) => set(name, { pin })} placeholder={before.arguments[name]?.how === "pin" ? "pinned; write it again to change" : "its value, as JSON or text"} />
                  ) : (
                    <Field label={`Words for ${name}`} unlabelled value={one(name).description} onChange={(description) => set(name, { description })} placeholder={plain.arguments[name] || "other words for a model"} />
                  )}
                  {fixed !== undefined && !isOwn(fixed, peg.id) && (
                    <p className="quiet small argument-source wrap-any">
                      {fixed.field.endsWith(".pin") ? "Pinned" : "Hidden"} by {originShort(fixed)} for <code>{fixed.target}</code>; what you choose here lies over it.
                    </p>
                  )}
                </li>
              );
            })}
          </ul>
        </fieldset>
      )}
      {wanting.first.length > 0 && <Notice tone="wants">Write the value to pin for {listed(wanting.first)}: every call is then sent with it.</Notice>}
      {wanting.again.length > 0 && (
        <Notice tone="wants">Write the pinned value of {listed(wanting.again)} again: it is never shown, and an edit of an argument says all of it.</Notice>
      )}
      {isNothing(wanted) && isWritten && <p className="quiet">Change something, and what a model would see appears here before anything is saved.</p>}
      {preview.error !== null && <Trouble error={preview.error} />}
      {preview.answer !== null && <Previewed of={preview.answer} />}
      <div className="row">
        <Button look="main" type="submit" disabled={!may}>
          Save…
        </Button>
        <Button onClick={() => onDraft(null)} disabled={held === null || !isTouched(held, peg.id, names)}>
          Start over
        </Button>
        {!operates && <span className="quiet small">Your token may look, not change.</span>}
        {operates && others.length > 0 && <span className="quiet small">Choose above first.</span>}
      </div>
      {saving && preview.answer !== null && (
        <Saving
          peg={peg}
          wanted={wanted}
          version={now.version}
          others={others}
          onLookAgain={onLookAgain}
          onClose={() => setSaving(false)}
          onSaved={async () => {
            setSettling(true);
            await onLookAgain();
            onDraft(null);
            setSettling(false);
            setSaving(false);
          }}
        >
          <Previewed of={preview.answer} />
        </Saving>
      )}
    </form>
  );
}

/** Whether anything is written that saving, or leaving, would concern. */
function isTouched(draft: Draft, target: string, names: readonly string[]): boolean {
  const before = begun(draft.base.said, target, names);
  const { first, again } = unwritten(before, draft.edit);
  return !isNothing(asked(before, draft.edit)) || first.length + again.length > 0;
}

/** How a person is shown a call. What the configuration may hold is said by the gateway, and checked there. */
function RendererFields({
  edit,
  before,
  below,
  onChange,
}: {
  edit: Edit;
  before: Edit;
  below: Said | undefined;
  onChange: (edit: Edit) => void;
}): ReactElement {
  const found = useAnswer<Answer<"/renderers">>([], "/renderers");
  const known = found.data?.renderers ?? [];
  const chosen = known.find((each) => each.name === edit.renderer);
  const keys = Object.entries((chosen?.configSchema["properties"] ?? {}) as Readonly<Record<string, { readonly description?: string; readonly default?: unknown }>>);
  // What was said before stays among the choices, also until the gateway has answered.
  const names = [...new Set([...known.map((each) => each.name), edit.renderer, before.renderer])].filter((name) => name !== "" && name !== DEFAULT_RENDERER);
  return (
    <div className="stack tight">
      <Select
        label="Shown as"
        value={edit.renderer}
        onChange={(renderer) => onChange(withRenderer(edit, before, renderer))}
        choices={[{ value: "", label: "As it is" }, { value: DEFAULT_RENDERER, label: "As every other call" }, ...names.map((name) => ({ value: name, label: name }))]}
        advice={chosen?.what ?? (below === undefined ? "How a person is shown a call of it." : `${originShort(below)} says: ${String(below.value)}. What you choose here lies over it.`)}
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
            advice="A JSON object, or empty for what is usual. A text may refer to the call: $args.name, $return.rows[0]."
            error={configOf(edit.config) === null ? "This is no JSON object yet." : null}
          />
          {keys.length > 0 && (
            <dl className="pairs" aria-label={`What ${edit.renderer} takes`}>
              {keys.map(([name, schema]) => (
                <div key={name}>
                  <dt className="mono">{name}</dt>
                  <dd className="wrap-any">
                    {schema.description}
                    {schema.default !== undefined && (
                      <span className="quiet">
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
      {found.error && <Trouble error={found.error} />}
    </div>
  );
}

function confirmAdvice(said: Said | undefined): { readonly advice?: string } {
  return said === undefined ? {} : { advice: `${originShort(said)} says: ${said.value === true ? "ask a person before each call" : "do not ask"}. What you choose here lies over it.` };
}

/** What a file pins or hides is the operator's: no override of a person loosens it. */
function Settled({ name, said }: { name: string; said: Said }): ReactElement {
  const isPin = said.field.endsWith(".pin");
  return (
    <li className="argument-edit">
      <code className="wrap-any">{name}</code>
      <span>
        <Tag>{isPin ? "Pinned" : "Hidden"}</Tag>
      </span>
      <span className="wrap-any small">
        {isPin && (
          <>
            <code>{pinWords(said)}</code>,{" "}
          </>
        )}
        by <code title={originWords(said)}>{originShort(said)}</code>: only an edit of the file changes it.
      </span>
    </li>
  );
}

/** A moment after the last change, so that the gateway is asked once for a word and not once for a letter. */
function usePreview(tool: string, wanted: Asked | null): { readonly answer: Preview | null; readonly error: unknown } {
  const [found, setFound] = useState<{ answer: Preview | null; error: unknown }>({ answer: null, error: null });
  const body = wanted === null ? null : JSON.stringify({ target: tool, ...wanted });
  useEffect(() => {
    if (body === null) {
      setFound({ answer: null, error: null });
      return;
    }
    const asking = new AbortController();
    const waiting = setTimeout(() => {
      ask<Preview>("/overrides/preview", { method: "POST", body: JSON.parse(body) as unknown, signal: asking.signal })
        .then((answer) => setFound({ answer, error: null }))
        .catch((error: unknown) => {
          if (!asking.signal.aborted) setFound({ answer: null, error });
        });
    }, 200);
    return () => {
      clearTimeout(waiting);
      asking.abort();
    };
  }, [body]);
  return found;
}

function Previewed({ of }: { of: Preview }): ReactElement {
  return (
    <section className="stack preview" aria-label="Preview" aria-live="polite">
      <h2>What a model would see</h2>
      {of.problems.map((each) => (
        <Notice key={each} tone="broken">
          {each}
        </Notice>
      ))}
      {of.withoutEffect.map((each) => (
        <Notice key={`${each.tool} ${each.field}`} tone="wants">
          <code>{each.field}</code> has no effect: {each.why}
        </Notice>
      ))}
      {of.misfits.map((each) => (
        <Notice key={`${each.field} ${each.what}`} tone="wants">
          <code>{each.field}</code>: {each.what}
        </Notice>
      ))}
      {of.tools.flatMap((tool) => tool.difference.map((section) => <SectionDiff key={`${tool.id} ${section.section}`} section={section} />))}
      {of.problems.length === 0 && of.tools.every((tool) => tool.difference.length === 0) && (
        <p className="quiet">Models see the same words as before.</p>
      )}
    </section>
  );
}
