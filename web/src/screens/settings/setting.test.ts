import { expect, test } from "vitest";
import { meant, typed, type Takes } from "./setting";

const takes = (kind: Takes["kind"], words: string[] = []): Takes => ({ kind, words });

test("what is typed is sent as what the setting takes", () => {
  expect(meant(" 30 ", takes("whole"))).toBe(30);
  expect(meant("5m", takes("seconds"))).toBe("5m");
  expect(meant("2.5", takes("seconds"))).toBe(2.5);
  expect(meant("many", takes("whole"))).toBe("many");
  expect(meant("true", takes("truth"))).toBe(true);
  expect(meant(" pin \n\n日本\n", takes("texts"))).toEqual(["pin", "日本"]);
  expect(meant("code", takes("choice", ["direct", "code"]))).toBe("code");
});

test("a value is typed as it would be sent again", () => {
  expect(typed(["a", "b"], takes("texts"))).toBe("a\nb");
  expect(typed(null, takes("truth"))).toBe("false");
  expect(typed(null, takes("texts"))).toBe("");
  expect(typed(90, takes("whole"))).toBe("90");
});
