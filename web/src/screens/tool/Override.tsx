/** Other words, a person's yes before each call, arguments that are hidden or pinned. The preview is made by the gateway;
 * saving shows the difference first. */
import { useEffect, useMemo, useState, type ReactElement } from "react";
import { useAnswer, useDeed } from "@/api/answers";
import { ask } from "@/api/client";
import { useMay } from "@/api/session";
import type { Peg } from "@/api/types";
import { listed } from "@/lib/words";
import { Answered, Button, Dialog, Field, Notice, SectionDiff, Select, Skeleton, TextArea, Trouble } from "@/parts";
import { asked, begun, isNothing, unwritten, type ArgumentEdit, type Asked, type Edit } from "./editing";
import type { Preview, Said, Shown, Why } from "./told";

export function Override({ peg, shown }: { peg: Peg; shown: Shown }): ReactElement {
  // As nobody in particular: an override holds for everyone.
  const why = useAnswer<Why>(["board", "policy"], "/why", { tool: peg.id });
  return (
    <Answered of={why} waiting={<Skeleton lines={10} height={32} />}>
      {(answer) => <Editing key={JSON.stringify(answer.overrides)} peg={peg} shown={shown} said={answer.overrides} />}
    </Answered>
  );
}

const CONFIRM = [
  { value: "", label: "As it is" },
  { value: "yes", label: "Ask a person before each call" },
  { value: "no", label: "Do not ask" },
];
const HOW = [
  { value: "", label: "As offered" },
  { value: "hide", label: "Hidden" },
  { value: "pin", label: "Pinned" },
];

function Editing({ peg, shown, said }: { peg: Peg; shown: Shown; said: readonly Said[] }): ReactElement {
  const properties = shown.asOffered.inputSchema["properties"];
  const names = useMemo(() => Object.keys(typeof properties === "object" && properties !== null ? properties : {}), [properties]);
  const before = useMemo(() => begun(said, peg.id, names), [said, peg.id, names]);
  const [edit, setEdit] = useState<Edit>(before);
  const [saving, setSaving] = useState(false);
  const operates = useMay("operate");
  const wanted = useMemo(() => asked(before, edit), [before, edit]);
  const again = unwritten(before, edit);
  const ready = !isNothing(wanted) && again.length === 0;
  const preview = usePreview(peg.id, ready ? wanted : null);
  const one = (name: string): ArgumentEdit => edit.arguments[name] ?? { how: "", pin: "", description: "" };
  const set = (name: string, change: Partial<ArgumentEdit>): void =>
    setEdit({ ...edit, arguments: { ...edit.arguments, [name]: { ...one(name), ...change } } });
  return (
    <form
      className="stack"
      onSubmit={(event) => {
        event.preventDefault();
        if (ready && preview.answer !== null && preview.answer.problems.length === 0) setSaving(true);
      }}
    >
      <Field label="Name for people" value={edit.name} onChange={(name) => setEdit({ ...edit, name })} placeholder={shown.asOffered.title ?? peg.name} advice="Models keep the name of its id." maxLength={200} />
      <TextArea label="Description" value={edit.description} onChange={(description) => setEdit({ ...edit, description })} placeholder={shown.asOffered.description} rows={4} advice="What models read in place of its provider's words." />
      <Select label="Before a call" value={edit.confirm} onChange={(confirm) => setEdit({ ...edit, confirm: confirm as Edit["confirm"] })} choices={CONFIRM} />
      {names.length > 0 && (
        <fieldset className="form-group">
          <legend className="field-label">Arguments</legend>
          <ul className="stack">
            {names.map((name) => (
              <li key={name} className="argument-edit">
                <code className="wrap-any">{name}</code>
                <Select label={`What becomes of ${name}`} unlabelled value={one(name).how} onChange={(how) => set(name, { how: how as ArgumentEdit["how"] })} choices={HOW} />
                {one(name).how === "pin" ? (
                  <Field label={`Value of ${name}`} unlabelled mono value={one(name).pin} onChange={(pin) => set(name, { pin })} placeholder={before.arguments[name]?.how === "pin" ? "pinned; write it again to change" : "its value, as JSON or text"} />
                ) : (
                  <Field label={`Words for ${name}`} unlabelled value={one(name).description} onChange={(description) => set(name, { description })} placeholder="other words for a model" />
                )}
              </li>
            ))}
          </ul>
        </fieldset>
      )}
      {again.length > 0 && (
        <Notice tone="wants">Write the pinned value of {listed(again)} again: it is never shown, and an edit of an argument says all of it.</Notice>
      )}
      {isNothing(wanted) && again.length === 0 && <p className="quiet">Change something, and what a model would see appears here before anything is saved.</p>}
      {preview.error !== null && <Trouble error={preview.error} />}
      {preview.answer !== null && <Previewed of={preview.answer} />}
      <div className="row">
        <Button look="main" type="submit" disabled={!operates || !ready || preview.answer === null || preview.answer.problems.length > 0}>
          Save…
        </Button>
        <Button onClick={() => setEdit(before)} disabled={isNothing(wanted)}>
          Start over
        </Button>
        {!operates && <span className="quiet small">Your token may look, not change.</span>}
      </div>
      {saving && preview.answer !== null && <Saving peg={peg} wanted={wanted} preview={preview.answer} onClose={() => setSaving(false)} />}
    </form>
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
      <h3>What a model would see</h3>
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

function Saving({ peg, wanted, preview, onClose }: { peg: Peg; wanted: Asked; preview: Preview; onClose: () => void }): ReactElement {
  const deed = useDeed({ silent: true });
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Override ${peg.name}`}
      wide
      actions={
        <>
          <Button onClick={onClose}>Not yet</Button>
          <Button
            look="main"
            busy={deed.isPending}
            onClick={() =>
              deed.mutate(
                { path: "/overrides", body: { target: peg.id, ...wanted }, version: preview.policyVersion, done: `${peg.name} is overridden` },
                { onSuccess: onClose },
              )
            }
          >
            Save
          </Button>
        </>
      }
    >
      <div className="stack">
        <Previewed of={preview} />
        {deed.error && <Trouble error={deed.error} />}
      </div>
    </Dialog>
  );
}
