import { expect, test } from "vitest";
import { choicesOf, endBody, endOf, firstChoice } from "./ends";

test("the board's own length is offered and chosen first", () => {
  expect(firstChoice(14)).toEqual("14");
  expect(choicesOf(14).map(({ value }) => value)).toEqual(["1", "7", "14", "30", "90", "date"]);
});

test("no end is offered only where the board says so", () => {
  expect(firstChoice(null)).toEqual("never");
  expect(choicesOf(null).at(-1)?.value).toEqual("never");
  expect(choicesOf(30).some(({ value }) => value === "never")).toEqual(false);
});

test("an end is sent as the API takes it, and shown as the same moment", () => {
  const now = Date.parse("2026-11-18T12:00:00Z");
  expect(endBody({ choice: "7", date: "" })).toEqual({ expiresInDays: 7 });
  expect(endOf({ choice: "7", date: "" }, now)).toEqual("2026-11-25T12:00:00.000Z");
  expect(endBody({ choice: "date", date: "2026-12-18" })).toEqual({ expiresAt: "2026-12-18T23:59:59Z" });
  expect(endOf({ choice: "date", date: "2026-12-18" }, now)).toEqual("2026-12-18T23:59:59Z");
  expect(endBody({ choice: "never", date: "" })).toEqual({ expiresAt: "never" });
  expect(endOf({ choice: "never", date: "" }, now)).toEqual(null);
});
