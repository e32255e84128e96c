/** A model's answer, pasted: the calls in it, where it broke, and what the gate would say to each. Nothing is called. */
import { useState, type ReactElement } from "react";
import { useDeed } from "@/api/answers";
import { count } from "@/lib/words";
import { Button, gateMark, Json, Link, Notice, StateWords, Tag, TextArea, Trouble } from "@/parts";
import { pieces } from "./pieces";
import type { ParsedAnswer, ParsedCall } from "./shapes";

export function Answer({ model, format, query, principal }: { model: string; format: string; query: string; principal: string }): ReactElement {
  const [text, setText] = useState("");
  const [read, setRead] = useState("");
  const deed = useDeed<ParsedAnswer>({ silent: true });
  const parse = (): void => {
    setRead(text);
    deed.mutate({
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
          advice="Paste what the model wrote. It is read as the chat would read it, and nothing is called."
        />
        <div className="row">
          <Button look="main" icon="eye" busy={deed.isPending} disabled={text === ""} onClick={parse}>
            Read it
          </Button>
          {deed.data !== undefined && <span className="quiet">Read as {deed.data.format}.</span>}
        </div>
        {deed.error !== null && <Trouble error={deed.error} />}
        {deed.data !== undefined && deed.error === null && <Parsed told={deed.data} text={read} />}
      </div>
    </section>
  );
}

const KINDS: Readonly<Record<string, string>> = {
  call: "a call",
  broken: "broken",
  thinking: "thinking",
  markup: "markup",
  text: "text",
};

function Parsed({ told, text }: { told: ParsedAnswer; text: string }): ReactElement {
  return (
    <div className="prompt-parsed" role="status">
      <pre className="code wraps" tabIndex={0} aria-label="The answer in pieces">
        {pieces(text, told.spans).map((piece, at) => (
          <span key={at} className={`piece is-piece-${piece.kind}`} title={piece.why || (KINDS[piece.kind] ?? piece.kind)}>
            {piece.text}
          </span>
        ))}
      </pre>
      <div className="stack">
        <p>
          {count(told.calls.length, "call")} found{told.broken.length > 0 && `, ${count(told.broken.length, "piece")} broken`}.
        </p>
        {told.otherFormats.length > 0 && (
          <Notice tone="plain">
            Read as {told.otherFormats.join(" or ")}, it has calls. If the model is told to speak so, choose that format above.
          </Notice>
        )}
        {told.broken.map((each) => (
          <Notice key={each.start} tone="broken">
            Broken at character {each.start + 1}: {each.why}
          </Notice>
        ))}
        <ol className="prompt-calls">
          {told.calls.map((call, at) => (
            <li key={at}>
              <Called call={call} />
            </li>
          ))}
        </ol>
      </div>
    </div>
  );
}

function Called({ call }: { call: ParsedCall }): ReactElement {
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
        <StateWords state={gateMark(call.gate.word)}>{call.gate.word.replaceAll("_", " ")}</StateWords>
      </div>
      {call.gate.said !== "" && <p className="wrap-any">{call.gate.said}</p>}
      <Json value={call.arguments} depth={2} />
      {(call.repairs.length > 0 || call.recovered) && (
        <p className="row tight small">
          {call.recovered && <Tag tone="wants">its end never came</Tag>}
          {call.repairs.map((repair) => (
            <Tag key={repair} tone="wants">
              {repair}
            </Tag>
          ))}
        </p>
      )}
    </div>
  );
}
