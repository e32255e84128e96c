/** Calls the tool through the same checks as every caller. The activity marks it as a trial. */
import { useMemo, useRef, useState, type ReactElement } from "react";
import { flushSync } from "react-dom";
import { useApiMutation } from "@/api/queries";
import { useHasScope, useSession } from "@/api/session";
import type { ToolCard } from "@/api/types";
import { validateForm, withImplicitValues, NO_FIELD_ERRORS } from "@/lib/form-validation";
import { indentJson } from "@/lib/json";
import { formatNumber } from "@/lib/format";
import { LOCAL_PRINCIPAL } from "@/screens/board/ViewAs";
import { Button, ButtonLink, Checkbox, Code, Dialog, FixedFields, Notice, JsonField, RenderedCallView, SchemaForm, Tabs, Tag, ErrorMessage, type FormValues } from "@/components";
import { fixedArguments, type OverrideEntry, type ToolDefinitionResponse, type TrialResponse } from "./types";

type ResultTab = "raw" | "model" | "rendered";

export function TryTool({
  tool,
  definition,
  overrides,
  principal,
  view,
}: {
  tool: ToolCard;
  definition: ToolDefinitionResponse;
  overrides: readonly OverrideEntry[];
  principal: string;
  view: Readonly<Record<string, unknown>>;
}): ReactElement {
  const [values, setValues] = useState<FormValues>({});
  const [raw, setRaw] = useState(false);
  const [confirmOpen, setConfirmOpen] = useState(false);
  const [submitted, setSubmitted] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  const mutation = useApiMutation<TrialResponse>({ silent: true });
  const canOperate = useHasScope("operate");
  const isAdmin = useHasScope("admin");
  const ownPrincipal = useSession().data?.principal ?? principal;
  const caller = typeof view["as"] === "string" ? view["as"] : ownPrincipal;
  const schema = definition.asOverridden.inputSchema;
  const args = useMemo(() => (raw ? values : (withImplicitValues(schema, schema, values) as FormValues)), [raw, schema, values]);
  const errors = useMemo(() => (submitted ? validateForm(schema, schema, args, !raw) : NO_FIELD_ERRORS), [submitted, schema, args, raw]);
  const fixedValues = useMemo(() => fixedArguments(overrides), [overrides]);
  const run = (): void => {
    setConfirmOpen(false);
    // In a request body an empty list means none; in a URL it is left out.
    const viewFields = Object.fromEntries(Object.entries(view).filter(([, value]) => !Array.isArray(value) || value.length > 0));
    mutation.mutate({ path: "/call", body: { tool: tool.id, arguments: args, trial: true, ...viewFields } });
  };
  /** Asks and sends only if the form finds no error. */
  const validate = (): boolean => {
    flushSync(() => setSubmitted(true));
    const firstInvalid = form.current?.querySelector<HTMLElement>("[aria-invalid='true'], fieldset.has-error > button");
    firstInvalid?.focus();
    return firstInvalid == null && validateForm(schema, schema, args, !raw).size === 0;
  };
  if (!canOperate) {
    return (
      <div className="stack">
        <Notice>Your token may look, not call: to try a tool takes one with the scope operate.</Notice>
        {fixedValues.length > 0 && (
          <div className="form">
            <FixedFields fixed={fixedValues} />
          </div>
        )}
      </div>
    );
  }
  return (
    <div className="stack">
      {caller !== ownPrincipal && !isAdmin && <Notice>To call as {caller} takes a token with the scope admin. Yours calls as {ownPrincipal}.</Notice>}
      {caller === ownPrincipal && caller !== principal && (
        <Notice>
          The call is made as {ownPrincipal}, the principal of your token. The verdict on this page is for {principal}.
        </Notice>
      )}
      {tool.state !== "open" && (
        <Notice tone={tool.state === "needs_action" ? "needs_action" : "plain"}>
          It is {tool.verdict === "hidden" ? "not there" : "locked"} for {principal}, so the call will be refused: the answer shows in which words.
        </Notice>
      )}
      <form
        className="stack"
        ref={form}
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          if (!validate()) return;
          if (tool.hints.destructive === true) setConfirmOpen(true);
          else run();
        }}
      >
        <Checkbox label="Write the arguments as JSON" checked={raw} onChange={setRaw} />
        {raw ? (
          <>
            <JsonField
              name="arguments"
              label="Arguments"
              value={values}
              onChange={(value) => setValues((value ?? {}) as FormValues)}
              rows={8}
              error={errors.size === 0 ? null : [...errors].map(([path, message]) => (path === "" ? message : `${path}: ${message}`)).join(" ")}
            />
            {fixedValues.length > 0 && <FixedFields fixed={fixedValues} />}
          </>
        ) : (
          <SchemaForm schema={schema} value={values} onChange={setValues} fixed={fixedValues} errors={errors} />
        )}
        <div className="row">
          <Button variant="primary" type="submit" icon="right" busy={mutation.isPending}>
            Call it
          </Button>
          <span className="muted small">
            as {caller}
            {caller === LOCAL_PRINCIPAL && ", this gateway's own operator"}
          </span>
        </div>
      </form>
      {mutation.error && <ErrorMessage error={mutation.error} />}
      {mutation.data !== undefined && <TrialResult trial={mutation.data} />}
      {confirmOpen && (
        <Dialog
          open
          onClose={() => setConfirmOpen(false)}
          title={`Call ${tool.name}?`}
          actions={
            <>
              <Button onClick={() => setConfirmOpen(false)}>Do not call it</Button>
              <Button variant="danger" onClick={run}>
                Call it
              </Button>
            </>
          }
        >
          <div className="stack">
            <p>
              Its provider says that it can destroy something, and this is a real call with these arguments:
            </p>
            <Code text={JSON.stringify(args, null, 2)} copyable={false} />
            {fixedValues.length > 0 && <p className="muted small">What is pinned goes with them: {fixedValues.map((each) => each.name).join(", ")}.</p>}
          </div>
        </Dialog>
      )}
    </div>
  );
}

function TrialResult({ trial }: { trial: TrialResponse }): ReactElement {
  const [selected, setSelected] = useState<ResultTab>("raw");
  const returned = trial.outcome === "returned";
  const tabs: { readonly id: ResultTab; readonly label: ReactElement }[] = [
    ...(trial.raw ? [{ id: "raw" as const, label: <TokenLabel name="Raw" tokens={trial.raw.tokens} /> }] : []),
    { id: "model", label: <TokenLabel name="As the model gets it" tokens={trial.asModel.tokens} /> },
    ...(trial.rendered ? [{ id: "rendered" as const, label: <TokenLabel name="Rendered" tokens={trial.renderedTokens ?? 0} /> }] : []),
  ];
  const activeTab = tabs.some(({ id }) => id === selected) ? selected : "model";
  return (
    <section className="stack" aria-label="Result">
      <div className="row apart">
        <span className="row tight">
          <b>Result</b>
          <Tag tone={returned ? "open" : trial.outcome === "tool_failed" || trial.outcome === "provider_failed" ? "broken" : "needs_action"}>
            {trial.outcome.replaceAll("_", " ")}
          </Tag>
        </span>
        <ButtonLink small variant="ghost" icon="activity" to="/activity" query={{ call: trial.callId }}>
          In the activity
        </ButtonLink>
      </div>
      {trial.message !== undefined && <p className="wrap-any">{trial.message}</p>}
      <Tabs name="Forms of the result" tabs={tabs} selected={activeTab} onChange={setSelected}>
        {activeTab === "raw" && trial.raw && <Code text={formatJsonText(trial.raw.text)} />}
        {activeTab === "model" && <Code text={trial.asModel.text} />}
        {activeTab === "rendered" && trial.rendered && <RenderedCallView key={trial.callId} call={trial.rendered} />}
      </Tabs>
    </section>
  );
}

function TokenLabel({ name, tokens }: { name: string; tokens: number }): ReactElement {
  return (
    <>
      {name} <span className="muted small">{formatNumber(tokens)} tokens</span>
    </>
  );
}

function formatJsonText(text: string): string {
  try {
    return indentJson(text);
  } catch {
    return text;
  }
}
