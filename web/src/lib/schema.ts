/** Which form control fits a JSON Schema; `raw` if none does. */

export type Schema = Readonly<Record<string, unknown>>;

export type FieldShape =
  | { readonly kind: "text"; readonly long: boolean }
  | { readonly kind: "number"; readonly integer: boolean }
  | { readonly kind: "flag" }
  | { readonly kind: "choice"; readonly values: readonly unknown[] }
  | { readonly kind: "list"; readonly items: Schema }
  | { readonly kind: "object"; readonly fields: readonly FieldSchema[] }
  | { readonly kind: "raw" };

export type FieldSchema = { readonly name: string; readonly schema: Schema; readonly required: boolean };

export function isSchema(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Resolves a local $ref; the schema itself if it has none, null if the target is missing. */
export function resolveReference(schema: Schema, root: Schema, steps = 0): Schema | null {
  const reference = schema["$ref"];
  if (typeof reference !== "string") return schema;
  if (!reference.startsWith("#/") || steps > 20) return null;
  let target: unknown = root;
  for (const part of reference.slice(2).split("/")) {
    const name = decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~");
    target = isSchema(target) ? target[name] : undefined;
  }
  if (!isSchema(target)) return null;
  const { $ref: _, ...siblings } = schema;
  return resolveReference({ ...target, ...siblings }, root, steps + 1);
}

/** The schema without `null` as one of its types. */
export function withoutNull(schema: Schema): { readonly schema: Schema; readonly nullable: boolean } {
  const type = schema["type"];
  if (Array.isArray(type) && type.includes("null")) {
    const others = type.filter((each) => each !== "null");
    return { schema: { ...schema, type: others.length === 1 ? others[0] : others }, nullable: true };
  }
  for (const keyword of ["anyOf", "oneOf"]) {
    const variants = schema[keyword];
    if (!Array.isArray(variants)) continue;
    const others = variants.filter((each) => !(isSchema(each) && each["type"] === "null"));
    if (others.length < variants.length && others.length === 1 && isSchema(others[0])) {
      const { [keyword]: _, ...siblings } = schema;
      return { schema: { ...others[0], ...siblings }, nullable: true };
    }
  }
  return { schema, nullable: false };
}

export function fieldShape(original: Schema, root: Schema, depth = 0): { readonly shape: FieldShape; readonly nullable: boolean; readonly schema: Schema } {
  const target = resolveReference(original, root);
  if (target === null || depth > 6) return { shape: { kind: "raw" }, nullable: false, schema: original };
  const { schema: nonNull, nullable } = withoutNull(target);
  const schema = resolveReference(nonNull, root) ?? nonNull;
  const withShape = (shape: FieldShape): ReturnType<typeof fieldShape> => ({ shape, nullable, schema });
  if ("const" in schema) return withShape({ kind: "choice", values: [schema["const"]] });
  if (Array.isArray(schema["enum"]) && schema["enum"].length > 0) return withShape({ kind: "choice", values: schema["enum"] });
  if (schema["anyOf"] !== undefined || schema["oneOf"] !== undefined || schema["allOf"] !== undefined) return withShape({ kind: "raw" });
  switch (schema["type"]) {
    case "string":
      return withShape({ kind: "text", long: typeof schema["maxLength"] !== "number" || schema["maxLength"] > 200 });
    case "number":
    case "integer":
      return withShape({ kind: "number", integer: schema["type"] === "integer" });
    case "boolean":
      return withShape({ kind: "flag" });
    case "array":
      return withShape(isSchema(schema["items"]) ? { kind: "list", items: schema["items"] } : { kind: "raw" });
    case "object":
    case undefined: {
      const properties = schema["properties"];
      if (!isSchema(properties)) return withShape({ kind: "raw" });
      const required = Array.isArray(schema["required"]) ? schema["required"] : [];
      const fields = Object.entries(properties).map(([name, each]) => ({
        name,
        schema: isSchema(each) ? each : {},
        required: required.includes(name),
      }));
      return withShape({ kind: "object", fields });
    }
    default:
      return withShape({ kind: "raw" });
  }
}

/** The initial value of a form: the default, or empty values for what is required. */
export function initialValue(original: Schema, root: Schema, depth = 0): unknown {
  const { shape, nullable, schema } = fieldShape(original, root, depth);
  if ("default" in schema) return schema["default"];
  if (nullable) return null;
  switch (shape.kind) {
    case "text":
      return "";
    case "number":
      return undefined;
    case "flag":
      return false;
    case "choice":
      return shape.values.length === 1 ? shape.values[0] : undefined;
    case "list":
      return [];
    case "object":
      return Object.fromEntries(
        shape.fields.filter((field) => field.required).map((field) => [field.name, initialValue(field.schema, root, depth + 1)]),
      );
    case "raw":
      return undefined;
  }
}
