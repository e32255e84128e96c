import { expect, test } from "vitest";
import { parseProblem, errorMessage } from "./problem";

test("a problem is said in the gateway's words", () => {
  const problem = parseProblem(412, JSON.stringify({ title: "Precondition Failed", detail: "Look again.", policyVersion: 7 }));
  expect([problem.message, problem.isStale, problem.policyVersion, problem.errors]).toEqual(["Look again.", true, 7, []]);
});

test("whatever answers instead of the gateway has a sentence too", () => {
  expect(errorMessage(parseProblem(502, "<html>"))).toBe("The gateway answered 502 without a word.");
  expect(errorMessage("odd")).toBe("odd");
});
