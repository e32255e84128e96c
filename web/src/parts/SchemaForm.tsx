/** A form from a JSON Schema; whatever it cannot show is written as JSON. It checks nothing: the gateway does. */
import { useId, useState, type ReactElement } from "react";
import { beginning, isSchema, shapeOf, type Member, type Schema } from "@/lib/schema";
import { Button, IconButton } from "./Button";
import { Field, Select, Switch, TextArea } from "./fields";
import { Tag } from "./Chip";

export type Values = Readonly<Record<string, unknown>>;

export function SchemaForm({
  schema,
  value,
  onChange,
  locked = {},
}: {
  schema: Schema;
  value: Values;
  onChange: (value: Values) => void;
  /** Arguments that are pinned: shown, and not to be changed here. */
  locked?: Values;
}): ReactElement {
  const { shape } = shapeOf(schema, schema);
  if (shape.kind !== "object") {
    return <RawField name="arguments" value={value} onChange={(next) => onChange(isSchema(next) ? next : {})} />;
  }
  if (shape.fields.length === 0) return <p className="quiet">It takes no arguments.</p>;
  return <Members fields={shape.fields} root={schema} value={value} onChange={onChange} locked={locked} />;
}

function Members({
  fields,
  root,
  value,
  onChange,
  locked = {},
}: {
  fields: readonly Member[];
  root: Schema;
  value: Values;
  onChange: (value: Values) => void;
  locked?: Values;
}): ReactElement {
  const put = (name: string, next: unknown): void => {
    const { [name]: _, ...rest } = value;
    onChange(next === undefined ? rest : { ...rest, [name]: next });
  };
  return (
    <div className="form">
      {fields.map((field) =>
        field.name in locked ? (
          <div key={field.name} className="form-place">
            <Field label={<Name field={field} />} value={text(locked[field.name])} onChange={() => undefined} readOnly mono advice="Pinned by an override: it is sent as it stands here." />
          </div>
        ) : (
          <div key={field.name} className="form-place">
            {field.name in value || field.required ? (
              <Place field={field} root={root} value={value[field.name]} onChange={(next) => put(field.name, next)} {...(field.required ? {} : { onLeave: () => put(field.name, undefined) })} />
            ) : (
              <Button small look="bare" icon="plus" onClick={() => put(field.name, beginning(field.schema, root) ?? null)}>
                {field.name}
              </Button>
            )}
          </div>
        ),
      )}
    </div>
  );
}

function Name({ field, onLeave }: { field: Member; onLeave?: () => void }): ReactElement {
  return (
    <span className="row tight">
      <code>{field.name}</code>
      {field.required && <Tag>required</Tag>}
      {onLeave && <IconButton icon="close" name={`Leave out ${field.name}`} onClick={onLeave} />}
    </span>
  );
}

function text(value: unknown): string {
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

function Place({
  field,
  root,
  value,
  onChange,
  onLeave,
}: {
  field: Member;
  root: Schema;
  value: unknown;
  onChange: (value: unknown) => void;
  onLeave?: () => void;
}): ReactElement {
  const { shape, nullable, schema } = shapeOf(field.schema, root);
  const advice = typeof schema["description"] === "string" ? schema["description"] : undefined;
  const label = onLeave ? <Name field={field} onLeave={onLeave} /> : <Name field={field} />;
  const around = { label, ...(advice === undefined ? {} : { advice }) };
  if (nullable && value === null) {
    return (
      <div className="field">
        <span className="field-label">{label}</span>
        <div className="row">
          <Tag>null</Tag>
          <Button small onClick={() => onChange(beginning({ ...schema, default: undefined }, root) ?? "")}>
            Give a value
          </Button>
        </div>
        {advice && <p className="field-advice">{advice}</p>}
      </div>
    );
  }
  switch (shape.kind) {
    case "text": {
      const now = text(value);
      return shape.long && (now.length > 60 || now.includes("\n")) ? (
        <TextArea {...around} value={now} onChange={onChange} rows={Math.min(10, now.split("\n").length + 1)} />
      ) : (
        <Field {...around} value={now} onChange={onChange} />
      );
    }
    case "number":
      return (
        <Field
          {...around}
          inputMode={shape.whole ? "numeric" : "decimal"}
          value={text(value)}
          onChange={(next) => onChange(next.trim() === "" ? undefined : Number.isFinite(Number(next)) ? Number(next) : next)}
        />
      );
    case "flag":
      return (
        <div className="field">
          <div className="row">
            <Switch label={label} on={value === true} onChange={onChange} />
          </div>
          {advice && <p className="field-advice">{advice}</p>}
        </div>
      );
    case "choice": {
      const at = shape.values.findIndex((each) => JSON.stringify(each) === JSON.stringify(value));
      return (
        <Select
          {...around}
          value={String(at)}
          onChange={(next) => onChange(shape.values[Number(next)])}
          choices={[...(at < 0 ? [{ value: "-1", label: "choose …" }] : []), ...shape.values.map((each, place) => ({ value: String(place), label: text(each) }))]}
        />
      );
    }
    case "list": {
      const items = Array.isArray(value) ? (value as readonly unknown[]) : [];
      return (
        <fieldset className="form-group">
          <legend>{label}</legend>
          {advice && <p className="field-advice">{advice}</p>}
          {items.map((item, at) => (
            <div key={at} className="form-item">
              <div className="grow">
                <Place
                  field={{ name: `${at + 1}`, schema: shape.items, required: false }}
                  root={root}
                  value={item}
                  onChange={(next) => onChange(items.map((other, place) => (place === at ? next : other)))}
                />
              </div>
              <IconButton icon="close" name={`Remove item ${at + 1} of ${field.name}`} onClick={() => onChange(items.filter((_, place) => place !== at))} />
            </div>
          ))}
          <Button small icon="plus" onClick={() => onChange([...items, beginning(shape.items, root) ?? ""])}>
            Add
          </Button>
        </fieldset>
      );
    }
    case "object":
      return (
        <fieldset className="form-group">
          <legend>{label}</legend>
          {advice && <p className="field-advice">{advice}</p>}
          <Members fields={shape.fields} root={root} value={isSchema(value) ? value : {}} onChange={onChange} />
        </fieldset>
      );
    case "raw":
      return <RawField name={field.name} {...around} value={value} onChange={onChange} />;
  }
}

/** JSON as text. What cannot be read yet is kept in the field and not handed on. */
export function RawField({
  name,
  value,
  onChange,
  label,
  advice,
  rows = 4,
}: {
  name: string;
  value: unknown;
  onChange: (value: unknown) => void;
  label?: React.ReactNode;
  advice?: string;
  rows?: number;
}): ReactElement {
  const id = useId();
  const [written, write] = useState<string | null>(null);
  const shown = written ?? (value === undefined ? "" : JSON.stringify(value, null, 2));
  let wrong: string | null = null;
  try {
    if (shown.trim() !== "") JSON.parse(shown);
  } catch (error) {
    wrong = `This is not JSON yet: ${error instanceof Error ? error.message : String(error)}`;
  }
  return (
    <TextArea
      key={id}
      mono
      label={label ?? name}
      rows={rows}
      value={shown}
      error={wrong}
      {...(advice === undefined ? {} : { advice })}
      onChange={(next) => {
        write(next);
        try {
          onChange(next.trim() === "" ? undefined : JSON.parse(next));
        } catch {
          // Said below the field.
        }
      }}
      onBlur={() => {
        if (wrong === null) write(null);
      }}
    />
  );
}
