import { expect, test } from "vitest";
import { searchRanked, buildTextIndex, searchInOrder } from "./text-search";

const index = buildTextIndex(["create_issue", "list_issues", "Delete_Repo", "issue_search"], (name) => name);

test("every word must match, in any case", () => {
  expect(searchInOrder(index, "ISSUE c")).toEqual(["create_issue", "issue_search"]);
  expect(searchInOrder(index, "delete repo")).toEqual(["Delete_Repo"]);
  expect(searchInOrder(index, "  ")).toEqual(["create_issue", "list_issues", "Delete_Repo", "issue_search"]);
  expect(searchInOrder(index, "nothing")).toEqual([]);
});

test("a ranked search puts prefix matches first", () => {
  expect(searchRanked(index, "issue")).toEqual(["issue_search", "create_issue", "list_issues"]);
});
