/** The tool as a model sees it: as its provider offers it, as people overrode it, or what lies between. */
import type { ReactElement, ReactNode } from "react";
import type { Peg } from "@/api/types";
import { useParam } from "@/lib/place";
import { isSchema, plain, resolved, type Schema } from "@/lib/schema";
import { count } from "@/lib/words";
import { HINTS } from "@/screens/wall/hanging";
import { Json, SectionDiff, Tag } from "@/parts";
import type { Shown, Spec } from "./told";

const FACES = [
  ["overridden", "Overridden"],
  ["offered", "As offered"],
  ["difference", "Difference"],
] as const;

export function Face({ peg, shown }: { peg: Peg; shown: Shown }): ReactElement {
  // Where nothing is overridden there is one face: what its provider offers.
  const isPlain = shown.difference.length === 0;
  const [wanted, setFace] = useParam("face", isPlain ? "offered" : "overridden");
  const face = isPlain ? "offered" : wanted;
  const spec = face === "offered" ? shown.asOffered : shown.asOverridden;
  return (
    <section className="sheet stack tool-face" aria-label="As a model sees it">
      <div className="segments" role="group" aria-label="Which face of the tool">
        {FACES.map(([id, words]) => (
          <button
            key={id}
            type="button"
            aria-pressed={face === id}
            disabled={isPlain && id !== "offered"}
            title={isPlain && id !== "offered" ? "Nothing is overridden" : undefined}
            onClick={() => setFace(id)}
          >
            {words}
            {id === "difference" && !isPlain && <> <span className="chip-count">{shown.difference.length}</span></>}
          </button>
        ))}
      </div>
      {face === "difference" ? <Difference shown={shown} /> : <Words peg={peg} spec={spec} />}
      <p className="quiet small">
        {count(spec.tokens, "token")} when it is shown whole
        {shown.asOffered.tokens !== shown.asOverridden.tokens &&
          ` (${count(shown.asOffered.tokens, "token")} as offered, ${count(shown.asOverridden.tokens, "token")} as overridden)`}
        {peg.tokens !== 0 && peg.tokens !== shown.asOverridden.tokens && `; the wall's quick estimate is ${count(peg.tokens, "token")}`}
      </p>
    </section>
  );
}

function Difference({ shown }: { shown: Shown }): ReactElement {
  return (
    <div className="stack">
      {shown.difference.map((section) => (
        <SectionDiff key={section.section} section={section} />
      ))}
    </div>
  );
}

function Words({ peg, spec }: { peg: Peg; spec: Spec }): ReactElement {
  const claims = (Object.keys(HINTS) as (keyof typeof HINTS)[]).filter((hint) => peg.hints[hint]);
  return (
    <>
      <dl className="facts">
        <Fact name="Id">
          <code className="wrap-any">{peg.id}</code>
        </Fact>
        <Fact name="Name for clients">
          {peg.wireName === null ? <span className="quiet">none, while it is absent</span> : <code className="wrap-any">{peg.wireName}</code>}
        </Fact>
        {spec.title !== null && <Fact name="Title">{spec.title}</Fact>}
        <Fact name="Claimed">
          {claims.length === 0 ? (
            <span className="quiet">nothing</span>
          ) : (
            <span className="row tight">
              {claims.map((hint) => (
                <Tag key={hint} title="Its provider says so; nobody checks it">
                  {HINTS[hint]}
                </Tag>
              ))}
            </span>
          )}
        </Fact>
      </dl>
      <div>
        <h2>Description</h2>
        <p className="prewrap wrap-any">{spec.description === "" ? <span className="quiet">none</span> : spec.description}</p>
      </div>
      <Parameters schema={spec.inputSchema} />
      <Whole name="Input schema" value={spec.inputSchema} />
      {spec.outputSchema !== null && <Whole name="Output schema" value={spec.outputSchema} />}
    </>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }): ReactElement {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function Parameters({ schema }: { schema: Schema }): ReactElement {
  const properties = isSchema(schema["properties"]) ? Object.entries(schema["properties"]) : [];
  const required = Array.isArray(schema["required"]) ? (schema["required"] as readonly unknown[]) : [];
  return (
    <div>
      <h2>Arguments</h2>
      {properties.length === 0 ? (
        <p className="quiet">none</p>
      ) : (
        <ul className="arguments">
          {properties.map(([name, said]) => {
            const about = isSchema(said) ? plain(resolved(said, schema) ?? said).schema : {};
            return (
              <li key={name}>
                <div className="row tight">
                  <code className="wrap-any">{name}</code>
                  <span className="quiet small mono">{kind(about)}</span>
                  {required.includes(name) && <Tag>required</Tag>}
                </div>
                {typeof about["description"] === "string" && <p className="quiet small wrap-any">{about["description"]}</p>}
              </li>
            );
          })}
        </ul>
      )}
    </div>
  );
}

function kind(schema: Schema): string {
  if (Array.isArray(schema["enum"])) return schema["enum"].map((each) => JSON.stringify(each)).join(" | ").slice(0, 80);
  const type = schema["type"];
  const name = Array.isArray(type) ? type.join(" | ") : typeof type === "string" ? type : "any";
  return name === "array" && isSchema(schema["items"]) ? `list of ${kind(schema["items"])}` : name;
}

function Whole({ name, value }: { name: string; value: unknown }): ReactElement {
  return (
    <details>
      <summary>{name}</summary>
      <Json value={value} depth={3} />
    </details>
  );
}
