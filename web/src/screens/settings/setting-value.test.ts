import { expect, test } from "vitest";
import { parseText, toText, type SettingType } from "./setting-value";

const typeOf = (kind: SettingType["kind"], choices: string[] = []): SettingType => ({ kind, choices: choices });

test("a typed text is sent as the setting's type", () => {
  expect(parseText(" 30 ", typeOf("integer"))).toBe(30);
  expect(parseText("5m", typeOf("seconds"))).toBe("5m");
  expect(parseText("2.5", typeOf("seconds"))).toBe(2.5);
  expect(parseText("many", typeOf("integer"))).toBe("many");
  expect(parseText("true", typeOf("boolean"))).toBe(true);
  expect(parseText(" pin \n\n日本\n", typeOf("list"))).toEqual(["pin", "日本"]);
  expect(parseText("code", typeOf("choice", ["direct", "code"]))).toBe("code");
});

test("a value is shown as it would be sent", () => {
  expect(toText(["a", "b"], typeOf("list"))).toBe("a\nb");
  expect(toText(null, typeOf("boolean"))).toBe("false");
  expect(toText(null, typeOf("list"))).toBe("");
  expect(toText(90, typeOf("integer"))).toBe("90");
});
