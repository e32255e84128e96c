/** What a form can say of its own values before they are sent: what is missing, and what is of another kind than its place.
 * The gateway checks all of it again, and more. */
import { isSchema, shapeOf, type Schema } from "./schema";

/** By place: the names and numbers that lead there, with strokes between them. */
export type Faults = ReadonlyMap<string, string>;

export const NO_FAULTS: Faults = new Map();

export function place(within: string, name: string | number): string {
  return within === "" ? String(name) : `${within}/${name}`;
}

/** With what the form shows without anybody having touched it: a switch that is off, the only choice, a group. */
export function filled(schema: Schema, root: Schema, value: unknown, depth = 0): unknown {
  const { shape } = shapeOf(schema, root, depth);
  if (shape.kind !== "object" || (value !== undefined && !isSchema(value))) return value;
  const given = value ?? {};
  const more: Record<string, unknown> = {};
  for (const field of shape.fields) {
    const own = given[field.name];
    const inner = shapeOf(field.schema, root, depth + 1);
    if (inner.shape.kind === "object" && !inner.nullable && (own !== undefined || field.required)) more[field.name] = filled(field.schema, root, own, depth + 1);
    if (own !== undefined || !field.required || inner.nullable) continue;
    if (inner.shape.kind === "flag") more[field.name] = false;
    if (inner.shape.kind === "choice" && inner.shape.values.length === 1) more[field.name] = inner.shape.values[0];
  }
  return { ...given, ...more };
}

/** `inForm` is a form, where an empty field says nothing; in JSON an empty text is one. */
export function faultsOf(schema: Schema, root: Schema, value: unknown, inForm: boolean): Faults {
  const found = new Map<string, string>();
  look(schema, root, value, inForm, "", 0, found);
  return found;
}

function look(schema: Schema, root: Schema, value: unknown, inForm: boolean, at: string, depth: number, found: Map<string, string>): void {
  const { shape, nullable, schema: bare } = shapeOf(schema, root, depth);
  if (nullable && value === null) return;
  const say = (words: string): void => void found.set(at, words);
  switch (shape.kind) {
    case "text":
      if (typeof value !== "string") say("This must be text.");
      return;
    case "number":
      if (typeof value !== "number") say("This must be a number.");
      else if (shape.whole && !Number.isInteger(value)) say("This must be a whole number.");
      else if (typeof bare["minimum"] === "number" && value < bare["minimum"]) say(`This must be ${bare["minimum"]} or more.`);
      else if (typeof bare["maximum"] === "number" && value > bare["maximum"]) say(`This must be ${bare["maximum"]} or less.`);
      return;
    case "flag":
      if (typeof value !== "boolean") say("This must be true or false.");
      return;
    case "choice":
      if (!shape.values.some((each) => JSON.stringify(each) === JSON.stringify(value))) say("Choose one of those that there are.");
      return;
    case "list":
      if (!Array.isArray(value)) say("This must be a list.");
      else value.forEach((item, index) => look(shape.items, root, item, inForm, place(at, index), depth + 1, found));
      return;
    case "object":
      if (!isSchema(value)) {
        say("This must be an object: names with values.");
        return;
      }
      for (const field of shape.fields) {
        const own = value[field.name];
        const inner = shapeOf(field.schema, root, depth + 1).shape.kind;
        const isMissing = own === undefined || (inForm && own === "" && inner === "text");
        if (field.required && isMissing) found.set(place(at, field.name), missing(inner, inForm));
        else if (own !== undefined) look(field.schema, root, own, inForm, place(at, field.name), depth + 1, found);
      }
      return;
    case "raw":
      return;
  }
}

function missing(kind: string, inForm: boolean): string {
  if (!inForm) return "This is required.";
  if (kind === "choice") return "This is required: choose one.";
  if (kind === "list") return "This is required: add at least one. An empty list can be written as JSON.";
  return "This is required: write its value.";
}
