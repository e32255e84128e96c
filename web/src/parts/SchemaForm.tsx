/** A form from a JSON Schema; whatever it cannot show is written as JSON. It shows the faults that it is given. */
import { useId, useState, type ReactElement, type ReactNode } from "react";
import { NO_FAULTS, place, type Faults } from "@/lib/checking";
import { beginning, isSchema, shapeOf, type Member, type Schema } from "@/lib/schema";
import { Button, IconButton } from "./Button";
import { Field, Select, Switch, TextArea } from "./fields";
import { Tag } from "./Chip";
import { Icon } from "./icons";

export type Values = Readonly<Record<string, unknown>>;

/** An argument that callers have no say in. */
export type Fixed = {
  readonly name: string;
  /** What is sent, as far as it may be shown. */
  readonly value: string;
  /** Who fixed it, and what comes of it. */
  readonly words: string;
};

export function SchemaForm({
  schema,
  value,
  onChange,
  fixed = [],
  faults = NO_FAULTS,
}: {
  schema: Schema;
  value: Values;
  onChange: (value: Values) => void;
  /** Arguments that are pinned or hidden: shown, and not to be changed here. */
  fixed?: readonly Fixed[];
  /** What is wrong, by place. */
  faults?: Faults;
}): ReactElement {
  const { shape } = shapeOf(schema, schema);
  return (
    <div className="form">
      {shape.kind !== "object" ? (
        <RawField name="arguments" value={value} onChange={(next) => onChange(isSchema(next) ? next : {})} error={faults.get("") ?? null} />
      ) : shape.fields.length === 0 ? (
        <p className="quiet">{fixed.length === 0 ? "It takes no arguments." : "It takes no arguments from callers."}</p>
      ) : (
        <Members fields={shape.fields} root={schema} value={value} onChange={onChange} faults={faults} at="" />
      )}
      {fixed.length > 0 && <FixedFields of={fixed} />}
    </div>
  );
}

/** What is sent without being asked: locked, each with who fixed it. */
export function FixedFields({ of }: { of: readonly Fixed[] }): ReactElement {
  return (
    <>
      {of.map((each) => (
        <div key={each.name} className="form-place is-fixed">
          <Field
            label={
              <span className="row tight">
                <Icon name="lock" size={14} />
                <code>{each.name}</code>
              </span>
            }
            value={each.value}
            onChange={() => undefined}
            readOnly
            mono
            advice={each.words}
          />
        </div>
      ))}
    </>
  );
}

function Members({
  fields,
  root,
  value,
  onChange,
  faults,
  at,
}: {
  fields: readonly Member[];
  root: Schema;
  value: Values;
  onChange: (value: Values) => void;
  faults: Faults;
  at: string;
}): ReactElement {
  const put = (name: string, next: unknown): void => {
    const { [name]: _, ...rest } = value;
    onChange(next === undefined ? rest : { ...rest, [name]: next });
  };
  return (
    <div className="form">
      {fields.map((field) => (
        <div key={field.name} className="form-place">
          {field.name in value || field.required ? (
            <Place
              field={field}
              root={root}
              value={value[field.name]}
              onChange={(next) => put(field.name, next)}
              faults={faults}
              at={place(at, field.name)}
              {...(field.required ? {} : { onLeave: () => put(field.name, undefined) })}
            />
          ) : (
            <Button small look="bare" icon="plus" onClick={() => put(field.name, beginning(field.schema, root) ?? null)}>
              {field.name}
            </Button>
          )}
        </div>
      ))}
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
  faults,
  at,
}: {
  field: Member;
  root: Schema;
  value: unknown;
  onChange: (value: unknown) => void;
  onLeave?: () => void;
  faults: Faults;
  at: string;
}): ReactElement {
  const { shape, nullable, schema } = shapeOf(field.schema, root);
  const advice = typeof schema["description"] === "string" ? schema["description"] : undefined;
  const label = onLeave ? <Name field={field} onLeave={onLeave} /> : <Name field={field} />;
  const error = faults.get(at) ?? null;
  const around = { label, error, ...(advice === undefined ? {} : { advice }) };
  const wrong = error !== null && (
    <p className="field-error" role="alert">
      {error}
    </p>
  );
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
          {wrong}
          {advice && <p className="field-advice">{advice}</p>}
        </div>
      );
    case "choice": {
      const index = shape.values.findIndex((each) => JSON.stringify(each) === JSON.stringify(value));
      return (
        <Select
          {...around}
          value={String(index)}
          onChange={(next) => onChange(shape.values[Number(next)])}
          choices={[...(index < 0 ? [{ value: "-1", label: "choose …" }] : []), ...shape.values.map((each, order) => ({ value: String(order), label: text(each) }))]}
        />
      );
    }
    case "list": {
      const items = Array.isArray(value) ? (value as readonly unknown[]) : [];
      return (
        <fieldset className={`form-group ${error === null ? "" : "has-error"}`}>
          <legend>{label}</legend>
          {advice && <p className="field-advice">{advice}</p>}
          {wrong}
          {items.map((item, order) => (
            <div key={order} className="form-item">
              <div className="grow">
                <Place
                  field={{ name: `${order + 1}`, schema: shape.items, required: false }}
                  root={root}
                  value={item}
                  onChange={(next) => onChange(items.map((other, each) => (each === order ? next : other)))}
                  faults={faults}
                  at={place(at, order)}
                />
              </div>
              <IconButton icon="close" name={`Remove item ${order + 1} of ${field.name}`} onClick={() => onChange(items.filter((_, each) => each !== order))} />
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
          {wrong}
          <Members fields={shape.fields} root={root} value={isSchema(value) ? value : {}} onChange={onChange} faults={faults} at={at} />
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
  error = null,
  rows = 4,
}: {
  name: string;
  value: unknown;
  onChange: (value: unknown) => void;
  label?: ReactNode;
  advice?: string;
  /** What is wrong with what the JSON says. */
  error?: ReactNode;
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
      error={wrong ?? error}
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
