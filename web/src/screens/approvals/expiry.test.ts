import { expect, test } from "vitest";
import { expiryOptions, toRequestFields, expiryDate, initialChoice } from "./expiry";

test("the board's default duration is an option and preselected", () => {
  expect(initialChoice(14)).toEqual("14");
  expect(expiryOptions(14).map(({ value: option }) => option)).toEqual(["1", "7", "14", "30", "90", "date"]);
});

test('"never" is an option only if the board allows it', () => {
  expect(initialChoice(null)).toEqual("never");
  expect(expiryOptions(null).at(-1)?.value).toEqual("never");
  expect(expiryOptions(30).some(({ value: option }) => option === "never")).toEqual(false);
});

test("an expiry is sent and shown as the same date", () => {
  const now = Date.parse("2026-11-18T12:00:00Z");
  expect(toRequestFields({ choice: "7", date: "" })).toEqual({ expiresInDays: 7 });
  expect(expiryDate({ choice: "7", date: "" }, now)).toEqual("2026-11-25T12:00:00.000Z");
  expect(toRequestFields({ choice: "date", date: "2026-12-18" })).toEqual({ expiresAt: "2026-12-18T23:59:59Z" });
  expect(expiryDate({ choice: "date", date: "2026-12-18" }, now)).toEqual("2026-12-18T23:59:59Z");
  expect(toRequestFields({ choice: "never", date: "" })).toEqual({ expiresAt: "never" });
  expect(expiryDate({ choice: "never", date: "" }, now)).toEqual(null);
});
