/** The tool as a model sees it: as offered by its provider, as overridden, or the difference. */
import type { ReactElement, ReactNode } from "react";
import type { ToolCard } from "@/api/types";
import { useParam } from "@/lib/router";
import { isSchema, withoutNull, resolveReference, type Schema } from "@/lib/schema";
import { formatCount } from "@/lib/format";
import { HINT_LABELS } from "@/screens/board/layout";
import { Json, SectionDiff, Tag } from "@/components";
import type { ToolDefinitionResponse, ToolSpec } from "./types";

const VIEWS = [
  ["overridden", "Overridden"],
  ["offered", "As offered"],
  ["difference", "Difference"],
] as const;

export function ToolDefinition({ tool, definition }: { tool: ToolCard; definition: ToolDefinitionResponse }): ReactElement {
  // Without an override there is only one view.
  const hasNoOverrides = definition.difference.length === 0;
  const [requestedView, setView] = useParam("face", hasNoOverrides ? "offered" : "overridden");
  const view = hasNoOverrides ? "offered" : requestedView;
  const spec = view === "offered" ? definition.asOffered : definition.asOverridden;
  return (
    <section className="sheet stack tool-definition" aria-label="As a model sees it">
      <div className="segments" role="group" aria-label="Which face of the tool">
        {VIEWS.map(([id, label]) => (
          <button
            key={id}
            type="button"
            aria-pressed={view === id}
            disabled={hasNoOverrides && id !== "offered"}
            title={hasNoOverrides && id !== "offered" ? "Nothing is overridden" : undefined}
            onClick={() => setView(id)}
          >
            {label}
            {id === "difference" && !hasNoOverrides && <> <span className="chip-count">{definition.difference.length}</span></>}
          </button>
        ))}
      </div>
      {view === "difference" ? <DefinitionDiff definition={definition} /> : <DefinitionText tool={tool} spec={spec} />}
      <p className="muted small">
        {formatCount(spec.tokens, "token")} when it is shown whole
        {definition.asOffered.tokens !== definition.asOverridden.tokens &&
          ` (${formatCount(definition.asOffered.tokens, "token")} as offered, ${formatCount(definition.asOverridden.tokens, "token")} as overridden)`}
        {tool.tokens !== 0 && tool.tokens !== definition.asOverridden.tokens && `; the wall's quick estimate is ${formatCount(tool.tokens, "token")}`}
      </p>
    </section>
  );
}

function DefinitionDiff({ definition }: { definition: ToolDefinitionResponse }): ReactElement {
  return (
    <div className="stack">
      {definition.difference.map((section) => (
        <SectionDiff key={section.section} section={section} />
      ))}
    </div>
  );
}

function DefinitionText({ tool, spec }: { tool: ToolCard; spec: ToolSpec }): ReactElement {
  const claims = (Object.keys(HINT_LABELS) as (keyof typeof HINT_LABELS)[]).filter((hint) => tool.hints[hint]);
  return (
    <>
      <dl className="facts">
        <Fact name="Id">
          <code className="wrap-any">{tool.id}</code>
        </Fact>
        <Fact name="Name for clients">
          {tool.wireName === null ? <span className="muted">none, while it is absent</span> : <code className="wrap-any">{tool.wireName}</code>}
        </Fact>
        {spec.title !== null && <Fact name="Title">{spec.title}</Fact>}
        <Fact name="Claimed">
          {claims.length === 0 ? (
            <span className="muted">nothing</span>
          ) : (
            <span className="row tight">
              {claims.map((hint) => (
                <Tag key={hint} title="Its provider says so; nobody checks it">
                  {HINT_LABELS[hint]}
                </Tag>
              ))}
            </span>
          )}
        </Fact>
      </dl>
      <div>
        <h2>Description</h2>
        <p className="prewrap wrap-any">{spec.description === "" ? <span className="muted">none</span> : spec.description}</p>
      </div>
      <Parameters schema={spec.inputSchema} />
      <SchemaDetails name="Input schema" value={spec.inputSchema} />
      {spec.outputSchema !== null && <SchemaDetails name="Output schema" value={spec.outputSchema} />}
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
        <p className="muted">none</p>
      ) : (
        <ul className="arguments">
          {properties.map(([name, property]) => {
            const parameter = isSchema(property) ? withoutNull(resolveReference(property, schema) ?? property).schema : {};
            return (
              <li key={name}>
                <div className="row tight">
                  <code className="wrap-any">{name}</code>
                  <span className="muted small mono">{typeName(parameter)}</span>
                  {required.includes(name) && <Tag>required</Tag>}
                </div>
                {typeof parameter["description"] === "string" && <p className="muted small wrap-any">{parameter["description"]}</p>}
              </li>
            );
          })}
        </ul>
      )}
    </div>
  );
}

function typeName(schema: Schema): string {
  if (Array.isArray(schema["enum"])) return schema["enum"].map((each) => JSON.stringify(each)).join(" | ").slice(0, 80);
  const type = schema["type"];
  const name = Array.isArray(type) ? type.join(" | ") : typeof type === "string" ? type : "any";
  return name === "array" && isSchema(schema["items"]) ? `list of ${typeName(schema["items"])}` : name;
}

function SchemaDetails({ name, value }: { name: string; value: unknown }): ReactElement {
  return (
    <details>
      <summary>{name}</summary>
      <Json value={value} depth={3} />
    </details>
  );
}
