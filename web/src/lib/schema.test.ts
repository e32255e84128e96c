import { expect, test } from "vitest";
import { initialValue, fieldShape, type Schema } from "./schema";

const fieldKind = (schema: Schema, root: Schema = schema): string => fieldShape(schema, root).shape.kind;

test("each kind of schema has its kind of field", () => {
  expect(
    [{ type: "string" }, { type: "integer" }, { type: "boolean" }, { enum: ["a"] }, { const: 1 }, { type: "array", items: {} }, { type: "object", properties: {} }].map((schema) => fieldKind(schema)),
  ).toEqual(["text", "number", "flag", "choice", "choice", "list", "object"]);
});

test("what a form cannot show is edited as JSON", () => {
  expect([{}, { oneOf: [{ type: "string" }, { type: "number" }] }, { type: ["string", "number"] }, { type: "array" }, { $ref: "#/nowhere" }, { $ref: "https://elsewhere" }].map((schema) => fieldKind(schema))).toEqual([
    "raw",
    "raw",
    "raw",
    "raw",
    "raw",
    "raw",
  ]);
});

test("null beside another type makes a field nullable", () => {
  expect(fieldShape({ type: ["string", "null"] }, {}).nullable).toBe(true);
  expect(fieldShape({ anyOf: [{ type: "integer" }, { type: "null" }] }, {})).toMatchObject({ nullable: true, shape: { kind: "number" } });
});

test("a local reference is resolved, and a circular one ends", () => {
  const root: Schema = { $defs: { level: { enum: [1, 2] }, loop: { $ref: "#/$defs/loop" } } };
  expect(fieldKind({ $ref: "#/$defs/level" }, root)).toBe("choice");
  expect(fieldKind({ $ref: "#/$defs/loop" }, root)).toBe("raw");
});

test("a form starts with defaults and required fields", () => {
  const schema: Schema = {
    type: "object",
    required: ["title", "deep"],
    properties: {
      title: { type: "string" },
      level: { type: "integer", default: 3 },
      deep: { type: "object", required: ["on"], properties: { on: { type: "boolean", default: true } } },
    },
  };
  expect(initialValue(schema, schema)).toEqual({ title: "", deep: { on: true } });
});
