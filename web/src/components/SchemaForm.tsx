/** A form for a JSON Schema. What it cannot show is edited as JSON. It shows the errors it is given and finds none
 * itself. */
import { useId, useState, type ReactElement, type ReactNode } from "react";
import { NO_FIELD_ERRORS, fieldPath, type FieldErrors } from "@/lib/form-validation";
import { initialValue, isSchema, fieldShape, type FieldSchema, type Schema } from "@/lib/schema";
import { Button, IconButton } from "./Button";
import { Field, Select, Switch, TextArea } from "./fields";
import { Tag } from "./Chip";
import { Icon } from "./icons";

export type FormValues = Readonly<Record<string, unknown>>;

/** An argument whose value callers cannot choose. */
export type FixedArgument = {
  readonly name: string;
  /** The value that is sent, as far as it may be shown. */
  readonly value: string;
  /** Who fixed it, and the effect. */
  readonly reason: string;
};

export function SchemaForm({
  schema,
  value,
  onChange,
  fixed = [],
  errors = NO_FIELD_ERRORS,
}: {
  schema: Schema;
  value: FormValues;
  onChange: (value: FormValues) => void;
  /** Pinned or hidden arguments: shown, but read-only. */
  fixed?: readonly FixedArgument[];
  /** Error messages by field path. */
  errors?: FieldErrors;
}): ReactElement {
  const { shape } = fieldShape(schema, schema);
  return (
    <div className="form">
      {shape.kind !== "object" ? (
        <JsonField name="arguments" value={value} onChange={(next) => onChange(isSchema(next) ? next : {})} error={errors.get("") ?? null} />
      ) : shape.fields.length === 0 ? (
        <p className="muted">{fixed.length === 0 ? "It takes no arguments." : "It takes no arguments from callers."}</p>
      ) : (
        <ObjectFields fields={shape.fields} root={schema} value={value} onChange={onChange} errors={errors} path="" />
      )}
      {fixed.length > 0 && <FixedFields fixed={fixed} />}
    </div>
  );
}

/** Arguments that are filled in for the caller: read-only, each with who fixed it. */
export function FixedFields({ fixed }: { fixed: readonly FixedArgument[] }): ReactElement {
  return (
    <>
      {fixed.map((each) => (
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
            hint={each.reason}
          />
        </div>
      ))}
    </>
  );
}

function ObjectFields({
  fields,
  root,
  value,
  onChange,
  errors,
  path,
}: {
  fields: readonly FieldSchema[];
  root: Schema;
  value: FormValues;
  onChange: (value: FormValues) => void;
  errors: FieldErrors;
  path: string;
}): ReactElement {
  const setField = (name: string, next: unknown): void => {
    const { [name]: _, ...rest } = value;
    onChange(next === undefined ? rest : { ...rest, [name]: next });
  };
  return (
    <div className="form">
      {fields.map((field) => (
        <div key={field.name} className="form-place">
          {field.name in value || field.required ? (
            <SchemaField
              field={field}
              root={root}
              value={value[field.name]}
              onChange={(next) => setField(field.name, next)}
              errors={errors}
              path={fieldPath(path, field.name)}
              {...(field.required ? {} : { onRemove: () => setField(field.name, undefined) })}
            />
          ) : (
            <Button small variant="ghost" icon="plus" onClick={() => setField(field.name, initialValue(field.schema, root) ?? null)}>
              {field.name}
            </Button>
          )}
        </div>
      ))}
    </div>
  );
}

function FieldName({ field, onRemove }: { field: FieldSchema; onRemove?: () => void }): ReactElement {
  return (
    <span className="row tight">
      <code>{field.name}</code>
      {field.required && <Tag>required</Tag>}
      {onRemove && <IconButton icon="close" name={`Leave out ${field.name}`} onClick={onRemove} />}
    </span>
  );
}

function toText(value: unknown): string {
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

function SchemaField({
  field,
  root,
  value,
  onChange,
  onRemove,
  errors,
  path,
}: {
  field: FieldSchema;
  root: Schema;
  value: unknown;
  onChange: (value: unknown) => void;
  onRemove?: () => void;
  errors: FieldErrors;
  path: string;
}): ReactElement {
  const { shape, nullable, schema } = fieldShape(field.schema, root);
  const hint = typeof schema["description"] === "string" ? schema["description"] : undefined;
  const label = onRemove ? <FieldName field={field} onRemove={onRemove} /> : <FieldName field={field} />;
  const error = errors.get(path) ?? null;
  const fieldProps = { label, error, ...(hint === undefined ? {} : { hint }) };
  const errorMessage = error !== null && (
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
          <Button small onClick={() => onChange(initialValue({ ...schema, default: undefined }, root) ?? "")}>
            Give a value
          </Button>
        </div>
        {hint && <p className="field-hint">{hint}</p>}
      </div>
    );
  }
  switch (shape.kind) {
    case "text": {
      const current = toText(value);
      return shape.long && (current.length > 60 || current.includes("\n")) ? (
        <TextArea {...fieldProps} value={current} onChange={onChange} rows={Math.min(10, current.split("\n").length + 1)} />
      ) : (
        <Field {...fieldProps} value={current} onChange={onChange} />
      );
    }
    case "number":
      return (
        <Field
          {...fieldProps}
          inputMode={shape.integer ? "numeric" : "decimal"}
          value={toText(value)}
          onChange={(next) => onChange(next.trim() === "" ? undefined : Number.isFinite(Number(next)) ? Number(next) : next)}
        />
      );
    case "flag":
      return (
        <div className="field">
          <div className="row">
            <Switch label={label} checked={value === true} onChange={onChange} />
          </div>
          {errorMessage}
          {hint && <p className="field-hint">{hint}</p>}
        </div>
      );
    case "choice": {
      const index = shape.values.findIndex((otherIndex) => JSON.stringify(otherIndex) === JSON.stringify(value));
      return (
        <Select
          {...fieldProps}
          value={String(index)}
          onChange={(next) => onChange(shape.values[Number(next)])}
          options={[...(index < 0 ? [{ value: "-1", label: "choose …" }] : []), ...shape.values.map((otherIndex, index) => ({ value: String(index), label: toText(otherIndex) }))]}
        />
      );
    }
    case "list": {
      const items = Array.isArray(value) ? (value as readonly unknown[]) : [];
      return (
        <fieldset className={`form-group ${error === null ? "" : "has-error"}`}>
          <legend>{label}</legend>
          {hint && <p className="field-hint">{hint}</p>}
          {errorMessage}
          {items.map((item, index) => (
            <div key={index} className="form-item">
              <div className="grow">
                <SchemaField
                  field={{ name: `${index + 1}`, schema: shape.items, required: false }}
                  root={root}
                  value={item}
                  onChange={(next) => onChange(items.map((other, otherIndex) => (otherIndex === index ? next : other)))}
                  errors={errors}
                  path={fieldPath(path, index)}
                />
              </div>
              <IconButton icon="close" name={`Remove item ${index + 1} of ${field.name}`} onClick={() => onChange(items.filter((_, otherIndex) => otherIndex !== index))} />
            </div>
          ))}
          <Button small icon="plus" onClick={() => onChange([...items, initialValue(shape.items, root) ?? ""])}>
            Add
          </Button>
        </fieldset>
      );
    }
    case "object":
      return (
        <fieldset className="form-group">
          <legend>{label}</legend>
          {hint && <p className="field-hint">{hint}</p>}
          {errorMessage}
          <ObjectFields fields={shape.fields} root={root} value={isSchema(value) ? value : {}} onChange={onChange} errors={errors} path={path} />
        </fieldset>
      );
    case "raw":
      return <JsonField name={field.name} {...fieldProps} value={value} onChange={onChange} />;
  }
}

/** JSON as text. Invalid JSON stays in the field and is not passed to `onChange`. */
export function JsonField({
  name,
  value,
  onChange,
  label,
  hint,
  error = null,
  rows = 4,
}: {
  name: string;
  value: unknown;
  onChange: (value: unknown) => void;
  label?: ReactNode;
  hint?: string;
  /** What is wrong with the parsed value. */
  error?: ReactNode;
  rows?: number;
}): ReactElement {
  const id = useId();
  const [draft, setDraft] = useState<string | null>(null);
  const text = draft ?? (value === undefined ? "" : JSON.stringify(value, null, 2));
  let syntaxError: string | null = null;
  try {
    if (text.trim() !== "") JSON.parse(text);
  } catch (error) {
    syntaxError = `This is not JSON yet: ${error instanceof Error ? error.message : String(error)}`;
  }
  return (
    <TextArea
      key={id}
      mono
      label={label ?? name}
      rows={rows}
      value={text}
      error={syntaxError ?? error}
      {...(hint === undefined ? {} : { hint })}
      onChange={(next) => {
        setDraft(next);
        try {
          onChange(next.trim() === "" ? undefined : JSON.parse(next));
        } catch {
          // The error is shown below the field.
        }
      }}
      onBlur={() => {
        if (syntaxError === null) setDraft(null);
      }}
    />
  );
}
