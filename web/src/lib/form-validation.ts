/** Checks a form before it is sent: missing values and wrong types. The gateway checks these again, and more. */
import { isSchema, fieldShape, type Schema } from "./schema";

/** By field path: names and indices, joined with "/". */
export type FieldErrors = ReadonlyMap<string, string>;

export const NO_FIELD_ERRORS: FieldErrors = new Map();

export function fieldPath(parent: string, name: string | number): string {
  return parent === "" ? String(name) : `${parent}/${name}`;
}

/** Adds the values that a form shows without any input: a switch that is off, the only option, an object. */
export function withImplicitValues(schema: Schema, root: Schema, value: unknown, depth = 0): unknown {
  const { shape } = fieldShape(schema, root, depth);
  if (shape.kind !== "object" || (value !== undefined && !isSchema(value))) return value;
  const current = value ?? {};
  const implicit: Record<string, unknown> = {};
  for (const field of shape.fields) {
    const own = current[field.name];
    const inner = fieldShape(field.schema, root, depth + 1);
    if (inner.shape.kind === "object" && !inner.nullable && (own !== undefined || field.required)) implicit[field.name] = withImplicitValues(field.schema, root, own, depth + 1);
    if (own !== undefined || !field.required || inner.nullable) continue;
    if (inner.shape.kind === "flag") implicit[field.name] = false;
    if (inner.shape.kind === "choice" && inner.shape.values.length === 1) implicit[field.name] = inner.shape.values[0];
  }
  return { ...current, ...implicit };
}

/** In a form an empty field means no value; in JSON (`inForm` is false) an empty string is one. */
export function validateForm(schema: Schema, root: Schema, value: unknown, inForm: boolean): FieldErrors {
  const errors = new Map<string, string>();
  validateField(schema, root, value, inForm, "", 0, errors);
  return errors;
}

function validateField(schema: Schema, root: Schema, value: unknown, inForm: boolean, path: string, depth: number, errors: Map<string, string>): void {
  const { shape, nullable, schema: resolved } = fieldShape(schema, root, depth);
  if (nullable && value === null) return;
  const addError = (message: string): void => void errors.set(path, message);
  switch (shape.kind) {
    case "text":
      if (typeof value !== "string") addError("This must be text.");
      return;
    case "number":
      if (typeof value !== "number") addError("This must be a number.");
      else if (shape.integer && !Number.isInteger(value)) addError("This must be a whole number.");
      else if (typeof resolved["minimum"] === "number" && value < resolved["minimum"]) addError(`This must be ${resolved["minimum"]} or more.`);
      else if (typeof resolved["maximum"] === "number" && value > resolved["maximum"]) addError(`This must be ${resolved["maximum"]} or less.`);
      return;
    case "flag":
      if (typeof value !== "boolean") addError("This must be true or false.");
      return;
    case "choice":
      if (!shape.values.some((each) => JSON.stringify(each) === JSON.stringify(value))) addError("Choose one of those that there are.");
      return;
    case "list":
      if (!Array.isArray(value)) addError("This must be a list.");
      else value.forEach((item, index) => validateField(shape.items, root, item, inForm, fieldPath(path, index), depth + 1, errors));
      return;
    case "object":
      if (!isSchema(value)) {
        addError("This must be an object: names with values.");
        return;
      }
      for (const field of shape.fields) {
        const own = value[field.name];
        const inner = fieldShape(field.schema, root, depth + 1).shape.kind;
        const isMissing = own === undefined || (inForm && own === "" && inner === "text");
        if (field.required && isMissing) errors.set(fieldPath(path, field.name), requiredMessage(inner, inForm));
        else if (own !== undefined) validateField(field.schema, root, own, inForm, fieldPath(path, field.name), depth + 1, errors);
      }
      return;
    case "raw":
      return;
  }
}

function requiredMessage(kind: string, inForm: boolean): string {
  if (!inForm) return "This is required.";
  if (kind === "choice") return "This is required: choose one.";
  if (kind === "list") return "This is required: add at least one. An empty list can be written as JSON.";
  return "This is required: write its value.";
}
