import { expect, test } from "vitest";
import { contentType } from "./dropped-file";

test("a manifest is sent as YAML, anything else as an archive", () => {
  expect(["toolset.yaml", "TOOLSET.YML", "recipes-1.0.0.zip", "odd"].map(contentType)).toEqual([
    "application/yaml",
    "application/yaml",
    "application/zip",
    "application/zip",
  ]);
});
