/** Try the tool through the same gate as every caller. It is marked as a trial in the activity. */
import { useMemo, useRef, useState, type ReactElement } from "react";
import { flushSync } from "react-dom";
import { useDeed } from "@/api/answers";
import { useMay, useSession } from "@/api/session";
import type { Peg } from "@/api/types";
import { faultsOf, filled, NO_FAULTS } from "@/lib/checking";
import { indented } from "@/lib/json";
import { number } from "@/lib/words";
import { LOCAL } from "@/screens/wall/SeenBy";
import { Button, ButtonLink, Check, Code, Dialog, FixedFields, Notice, RawField, Rendered, SchemaForm, Tabs, Tag, Trouble, type Values } from "@/parts";
import { fixedArguments, type Said, type Shown, type Trial } from "./told";

type Form = "raw" | "model" | "rendered";

export function Try({
  peg,
  shown,
  said,
  principal,
  view,
}: {
  peg: Peg;
  shown: Shown;
  said: readonly Said[];
  principal: string;
  view: Readonly<Record<string, unknown>>;
}): ReactElement {
  const [given, setGiven] = useState<Values>({});
  const [raw, setRaw] = useState(false);
  const [asks, setAsks] = useState(false);
  const [tried, setTried] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  const deed = useDeed<Trial>({ silent: true });
  const operates = useMay("operate");
  const administers = useMay("admin");
  const own = useSession().data?.principal ?? principal;
  const caller = typeof view["as"] === "string" ? view["as"] : own;
  const schema = shown.asOverridden.inputSchema;
  const sent = useMemo(() => (raw ? given : (filled(schema, schema, given) as Values)), [raw, schema, given]);
  const faults = useMemo(() => (tried ? faultsOf(schema, schema, sent, !raw) : NO_FAULTS), [tried, schema, sent, raw]);
  const fixed = useMemo(() => fixedArguments(said), [said]);
  const run = (): void => {
    setAsks(false);
    // In a body an empty list means none; in an address it is not written at all.
    const narrowed = Object.fromEntries(Object.entries(view).filter(([, value]) => !Array.isArray(value) || value.length > 0));
    deed.mutate({ path: "/call", body: { tool: peg.id, arguments: sent, trial: true, ...narrowed } });
  };
  /** Nothing is asked or sent while something is wrong that the form itself can tell. */
  const isFit = (): boolean => {
    flushSync(() => setTried(true));
    const first = form.current?.querySelector<HTMLElement>("[aria-invalid='true'], fieldset.has-error > button");
    first?.focus();
    return first == null && faultsOf(schema, schema, sent, !raw).size === 0;
  };
  if (!operates) {
    return (
      <div className="stack">
        <Notice>Your token may look, not call: to try a tool takes one with the scope operate.</Notice>
        {fixed.length > 0 && (
          <div className="form">
            <FixedFields of={fixed} />
          </div>
        )}
      </div>
    );
  }
  return (
    <div className="stack">
      {caller !== own && !administers && <Notice>To call as {caller} takes a token with the scope admin. Yours calls as {own}.</Notice>}
      {caller === own && caller !== principal && (
        <Notice>
          The call is made as {own}, the principal of your token. The verdict on this page is for {principal}.
        </Notice>
      )}
      {peg.state !== "open" && (
        <Notice tone={peg.state === "wants" ? "wants" : "plain"}>
          It is {peg.verdict === "absent" ? "not there" : "locked"} for {principal}, so the call will be refused: the answer shows in which words.
        </Notice>
      )}
      <form
        className="stack"
        ref={form}
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          if (!isFit()) return;
          if (peg.hints.destructive === true) setAsks(true);
          else run();
        }}
      >
        <Check label="Write the arguments as JSON" on={raw} onChange={setRaw} />
        {raw ? (
          <>
            <RawField
              name="arguments"
              label="Arguments"
              value={given}
              onChange={(value) => setGiven((value ?? {}) as Values)}
              rows={8}
              error={faults.size === 0 ? null : [...faults].map(([at, words]) => (at === "" ? words : `${at}: ${words}`)).join(" ")}
            />
            {fixed.length > 0 && <FixedFields of={fixed} />}
          </>
        ) : (
          <SchemaForm schema={schema} value={given} onChange={setGiven} fixed={fixed} faults={faults} />
        )}
        <div className="row">
          <Button look="main" type="submit" icon="right" busy={deed.isPending}>
            Call it
          </Button>
          <span className="quiet small">
            as {caller}
            {caller === LOCAL && ", this gateway's own operator"}
          </span>
        </div>
      </form>
      {deed.error && <Trouble error={deed.error} />}
      {deed.data !== undefined && <Outcome of={deed.data} />}
      {asks && (
        <Dialog
          open
          onClose={() => setAsks(false)}
          title={`Call ${peg.name}?`}
          actions={
            <>
              <Button onClick={() => setAsks(false)}>Do not call it</Button>
              <Button look="bad" onClick={run}>
                Call it
              </Button>
            </>
          }
        >
          <div className="stack">
            <p>
              Its provider says that it can destroy something, and this is a real call with these arguments:
            </p>
            <Code text={JSON.stringify(sent, null, 2)} copies={false} />
            {fixed.length > 0 && <p className="quiet small">What is pinned goes with them: {fixed.map((each) => each.name).join(", ")}.</p>}
          </div>
        </Dialog>
      )}
    </div>
  );
}

function Outcome({ of }: { of: Trial }): ReactElement {
  const [chosen, choose] = useState<Form>("raw");
  const returned = of.ended === "returned";
  const forms: { readonly id: Form; readonly label: ReactElement }[] = [
    ...(of.raw ? [{ id: "raw" as const, label: <Weight name="Raw" tokens={of.raw.tokens} /> }] : []),
    { id: "model", label: <Weight name="As the model gets it" tokens={of.asModel.tokens} /> },
    ...(of.rendered ? [{ id: "rendered" as const, label: <Weight name="Rendered" tokens={of.renderedTokens ?? 0} /> }] : []),
  ];
  const shown = forms.some(({ id }) => id === chosen) ? chosen : "model";
  return (
    <section className="stack" aria-label="Result">
      <div className="row apart">
        <span className="row tight">
          <b>Result</b>
          <Tag tone={returned ? "open" : of.ended === "tool_failed" || of.ended === "provider_failed" ? "broken" : "wants"}>
            {of.ended.replaceAll("_", " ")}
          </Tag>
        </span>
        <ButtonLink small look="bare" icon="activity" to="/activity" query={{ call: of.callId }}>
          In the activity
        </ButtonLink>
      </div>
      {of.sentence !== undefined && <p className="wrap-any">{of.sentence}</p>}
      <Tabs name="Forms of the result" tabs={forms} chosen={shown} onChange={choose}>
        {shown === "raw" && of.raw && <Code text={pretty(of.raw.text)} />}
        {shown === "model" && <Code text={of.asModel.text} />}
        {shown === "rendered" && of.rendered && <Rendered key={of.callId} of={of.rendered} />}
      </Tabs>
    </section>
  );
}

function Weight({ name, tokens }: { name: string; tokens: number }): ReactElement {
  return (
    <>
      {name} <span className="quiet small">{number(tokens)} tokens</span>
    </>
  );
}

function pretty(text: string): string {
  try {
    return indented(text);
  } catch {
    return text;
  }
}
