import { expect, test } from "vitest";
import { validateForm, withImplicitValues } from "./form-validation";

const SCHEMA = {
  type: "object",
  properties: {
    owner: { type: "string" },
    many: { type: "integer", minimum: 1 },
    sure: { type: "boolean" },
    kind: { enum: ["a", "b"] },
    tags: { type: "array", items: { type: "number" } },
    box: { type: "object", properties: { wide: { type: "number" } }, required: ["wide"] },
    note: { type: ["string", "null"] },
  },
  required: ["owner", "sure", "kind", "box"],
} as const;

function errorsOf(value: unknown, inForm = true): Record<string, string> {
  return Object.fromEntries(validateForm(SCHEMA, SCHEMA, value, inForm));
}

test("a missing required value is reported at its path, and an empty field counts as missing in a form", () => {
  expect(errorsOf(withImplicitValues(SCHEMA, SCHEMA, { owner: "" }))).toEqual({
    owner: "This is required: write its value.",
    kind: "This is required: choose one.",
    "box/wide": "This is required: write its value.",
  });
  expect(errorsOf({ owner: "", sure: false, kind: "a", box: { wide: 1 } }, false)).toEqual({});
});

test("a value of a wrong type is reported at its path", () => {
  const wrong = { owner: 3, many: 1.5, sure: "no", kind: "c", tags: [1, "x"], box: { wide: "w" }, note: null };
  expect(errorsOf(wrong)).toEqual({
    owner: "This must be text.",
    many: "This must be a whole number.",
    sure: "This must be true or false.",
    kind: "Choose one of those that there are.",
    "tags/1": "This must be a number.",
    "box/wide": "This must be a number.",
  });
  expect(errorsOf({ owner: "me", sure: true, kind: "a", box: { wide: 1 }, many: 0 })).toEqual({ many: "This must be 1 or more." });
});

test("an untouched switch is off, and an object exists", () => {
  expect(withImplicitValues(SCHEMA, SCHEMA, {})).toEqual({ sure: false, box: {} });
});
