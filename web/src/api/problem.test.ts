import { expect, test } from "vitest";
import { parseProblem, errorMessage } from "./problem";

test("a problem has the gateway's message", () => {
  const problem = parseProblem(412, JSON.stringify({ title: "Precondition Failed", detail: "Look again.", policyVersion: 7 }));
  expect([problem.message, problem.isStale, problem.policyVersion, problem.errors]).toEqual(["Look again.", true, 7, []]);
});

test("a response that is not from the gateway has a message too", () => {
  expect(errorMessage(parseProblem(502, "<html>"))).toBe("The gateway answered 502 without a word.");
  expect(errorMessage("odd")).toBe("odd");
});
