/** What a JSON Schema means for a form: one kind a place, and `raw` for whatever a form cannot show. */

export type Schema = Readonly<Record<string, unknown>>;

export type Shape =
  | { readonly kind: "text"; readonly long: boolean }
  | { readonly kind: "number"; readonly whole: boolean }
  | { readonly kind: "flag" }
  | { readonly kind: "choice"; readonly values: readonly unknown[] }
  | { readonly kind: "list"; readonly items: Schema }
  | { readonly kind: "object"; readonly fields: readonly Member[] }
  | { readonly kind: "raw" };

export type Member = { readonly name: string; readonly schema: Schema; readonly required: boolean };

export function isSchema(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The schema that a local reference names; itself where there is none, nothing where it leads nowhere. */
export function resolved(schema: Schema, root: Schema, steps = 0): Schema | null {
  const reference = schema["$ref"];
  if (typeof reference !== "string") return schema;
  if (!reference.startsWith("#/") || steps > 20) return null;
  let found: unknown = root;
  for (const part of reference.slice(2).split("/")) {
    const name = decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~");
    found = isSchema(found) ? found[name] : undefined;
  }
  if (!isSchema(found)) return null;
  const { $ref: _, ...beside } = schema;
  return resolved({ ...found, ...beside }, root, steps + 1);
}

/** Without the null that many a schema allows beside what it means. */
export function plain(schema: Schema): { readonly schema: Schema; readonly nullable: boolean } {
  const type = schema["type"];
  if (Array.isArray(type) && type.includes("null")) {
    const rest = type.filter((each) => each !== "null");
    return { schema: { ...schema, type: rest.length === 1 ? rest[0] : rest }, nullable: true };
  }
  for (const word of ["anyOf", "oneOf"]) {
    const several = schema[word];
    if (!Array.isArray(several)) continue;
    const rest = several.filter((each) => !(isSchema(each) && each["type"] === "null"));
    if (rest.length < several.length && rest.length === 1 && isSchema(rest[0])) {
      const { [word]: _, ...beside } = schema;
      return { schema: { ...rest[0], ...beside }, nullable: true };
    }
  }
  return { schema, nullable: false };
}

export function shapeOf(given: Schema, root: Schema, depth = 0): { readonly shape: Shape; readonly nullable: boolean; readonly schema: Schema } {
  const found = resolved(given, root);
  if (found === null || depth > 6) return { shape: { kind: "raw" }, nullable: false, schema: given };
  const { schema: bare, nullable } = plain(found);
  const schema = resolved(bare, root) ?? bare;
  const told = (shape: Shape): ReturnType<typeof shapeOf> => ({ shape, nullable, schema });
  if ("const" in schema) return told({ kind: "choice", values: [schema["const"]] });
  if (Array.isArray(schema["enum"]) && schema["enum"].length > 0) return told({ kind: "choice", values: schema["enum"] });
  if (schema["anyOf"] !== undefined || schema["oneOf"] !== undefined || schema["allOf"] !== undefined) return told({ kind: "raw" });
  switch (schema["type"]) {
    case "string":
      return told({ kind: "text", long: typeof schema["maxLength"] !== "number" || schema["maxLength"] > 200 });
    case "number":
    case "integer":
      return told({ kind: "number", whole: schema["type"] === "integer" });
    case "boolean":
      return told({ kind: "flag" });
    case "array":
      return told(isSchema(schema["items"]) ? { kind: "list", items: schema["items"] } : { kind: "raw" });
    case "object":
    case undefined: {
      const properties = schema["properties"];
      if (!isSchema(properties)) return told({ kind: "raw" });
      const required = Array.isArray(schema["required"]) ? schema["required"] : [];
      const fields = Object.entries(properties).map(([name, each]) => ({
        name,
        schema: isSchema(each) ? each : {},
        required: required.includes(name),
      }));
      return told({ kind: "object", fields });
    }
    default:
      return told({ kind: "raw" });
  }
}

/** What a form begins with: what the schema says is usual, and what is required with an empty value. */
export function beginning(given: Schema, root: Schema, depth = 0): unknown {
  const { shape, nullable, schema } = shapeOf(given, root, depth);
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
        shape.fields.filter((field) => field.required).map((field) => [field.name, beginning(field.schema, root, depth + 1)]),
      );
    case "raw":
      return undefined;
  }
}
