import { expect, test } from "vitest";
import { found, indexed, matching } from "./finding";

const index = indexed(["create_issue", "list_issues", "Delete_Repo", "issue_search"], (name) => name);

test("every word must be there, whatever its case", () => {
  expect(matching(index, "ISSUE c")).toEqual(["create_issue", "issue_search"]);
  expect(matching(index, "delete repo")).toEqual(["Delete_Repo"]);
  expect(matching(index, "  ")).toEqual(["create_issue", "list_issues", "Delete_Repo", "issue_search"]);
  expect(matching(index, "nothing")).toEqual([]);
});

test("whoever begins with the word comes first in a palette", () => {
  expect(found(index, "issue")).toEqual(["issue_search", "create_issue", "list_issues"]);
});
