/** A pasted answer of a model: its calls, parse errors, and the gate's verdict on each call. Nothing is executed. */
import { useState, type ReactElement } from "react";
import { useApiMutation } from "@/api/queries";
import { formatCount } from "@/lib/format";
import { Button, gateVerdictState, Json, Link, Notice, StateLabel, Tag, TextArea, ErrorMessage } from "@/components";
import { splitBySpans } from "./segments";
import type { ParsedAnswer, ParsedCall } from "./types";

export function ModelAnswer({ model, format, query, principal }: { model: string; format: string; query: string; principal: string }): ReactElement {
  const [text, setText] = useState("");
  const [parsedText, setParsedText] = useState("");
  const mutation = useApiMutation<ParsedAnswer>({ silent: true });
  const parse = (): void => {
    setParsedText(text);
    mutation.mutate({
      path: "/prompt/parse",
      body: { text, model, query, as: principal, ...(format === "" || format === "family" ? {} : { format }) },
    });
  };
  return (
    <section className="sheet prompt-answer" aria-label="A model's answer">
      <h2>A model’s answer</h2>
      <div className="stack">
        <TextArea
          label="Answer"
          mono
          rows={6}
          value={text}
          onChange={setText}
          maxLength={200_000}
          hint="Paste what the model wrote. It is read as the chat would read it, and nothing is called."
        />
        <div className="row">
          <Button variant="primary" icon="eye" busy={mutation.isPending} disabled={text === ""} onClick={parse}>
            Read it
          </Button>
          {mutation.data !== undefined && <span className="muted">Read as {mutation.data.format}.</span>}
        </div>
        {mutation.error !== null && <ErrorMessage error={mutation.error} />}
        {mutation.data !== undefined && mutation.error === null && <ParsedAnswerView parsed={mutation.data} text={parsedText} />}
      </div>
    </section>
  );
}

const SEGMENT_LABELS: Readonly<Record<string, string>> = {
  call: "a call",
  broken: "broken",
  thinking: "thinking",
  markup: "markup",
  text: "text",
};

function ParsedAnswerView({ parsed, text }: { parsed: ParsedAnswer; text: string }): ReactElement {
  return (
    <div className="prompt-parsed" role="status">
      <pre className="code wraps" tabIndex={0} aria-label="The answer in pieces">
        {splitBySpans(text, parsed.spans).map((segment, index) => (
          <span key={index} className={`piece is-piece-${segment.kind}`} title={segment.reason || (SEGMENT_LABELS[segment.kind] ?? segment.kind)}>
            {segment.text}
          </span>
        ))}
      </pre>
      <div className="stack">
        <p>
          {formatCount(parsed.calls.length, "call")} found{parsed.broken.length > 0 && `, ${formatCount(parsed.broken.length, "piece")} broken`}.
        </p>
        {parsed.otherFormats.length > 0 && (
          <Notice tone="plain">
            Read as {parsed.otherFormats.join(" or ")}, it has calls. If the model is told to speak so, choose that format above.
          </Notice>
        )}
        {parsed.broken.map((brokenPart) => (
          <Notice key={brokenPart.start} tone="broken">
            Broken at character {brokenPart.start + 1}: {brokenPart.reason}
          </Notice>
        ))}
        <ol className="prompt-calls">
          {parsed.calls.map((call, index) => (
            <li key={index}>
              <ParsedCallView call={call} />
            </li>
          ))}
        </ol>
      </div>
    </div>
  );
}

function ParsedCallView({ call }: { call: ParsedCall }): ReactElement {
  return (
    <div className="stack tight">
      <div className="row apart">
        {call.tool === null ? (
          <b className="mono wrap-any">{call.name}</b>
        ) : (
          <Link to="/tool" query={{ id: call.tool }} className="mono wrap-any">
            {call.name}
          </Link>
        )}
        <StateLabel state={gateVerdictState(call.admission.verdict)}>{call.admission.verdict.replaceAll("_", " ")}</StateLabel>
      </div>
      {call.admission.message !== "" && <p className="wrap-any">{call.admission.message}</p>}
      <Json value={call.arguments} depth={2} />
      {(call.repairs.length > 0 || call.recovered) && (
        <p className="row tight small">
          {call.recovered && <Tag tone="needs_action">its end never came</Tag>}
          {call.repairs.map((repair) => (
            <Tag key={repair} tone="needs_action">
              {repair}
            </Tag>
          ))}
        </p>
      )}
    </div>
  );
}
