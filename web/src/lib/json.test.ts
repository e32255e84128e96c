import { expect, test } from "vitest";
import { hasExactNumbers, indentJson } from "./json";

test("a number that JavaScript rounds or rewrites is detected", () => {
  expect(["[9007199254740993]", '{"a":-0.0}', "[1.0]", "[1e5]", "1e400"].filter(hasExactNumbers)).toEqual([]);
  expect(hasExactNumbers('{"1.0":"9007199254740993 \\" 1.0","b":[-1,0.5,9007199254740991,true,null]}')).toBe(true);
});

test("a text is indented as JavaScript does it", () => {
  const value = { a: [1, {}, [], [[]], { b: null }], "c:,[": 'x"{\\', d: {} };
  expect(indentJson(JSON.stringify(value))).toBe(JSON.stringify(value, null, 2));
  expect(() => indentJson("{")).toThrow();
});

test("an indented text keeps its numbers verbatim", () => {
  expect(indentJson('{"a":[9007199254740993,-0.0,1.0]}')).toBe('{\n  "a": [\n    9007199254740993,\n    -0.0,\n    1.0\n  ]\n}');
});
