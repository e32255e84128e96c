import { QueryObserver } from "@tanstack/react-query";
import { expect, test, vi } from "vitest";
import { queries, ring } from "./answers";

test("a bell breaks no question off, and it is asked again when it is answered", async () => {
  let asked = 0;
  let answer: (value: number) => void = () => undefined;
  const observer = new QueryObserver<number>(queries, {
    queryKey: [["board"], "/slow", ""],
    queryFn: () => {
      asked += 1;
      return new Promise((done) => {
        answer = done;
      });
    },
  });
  const leave = observer.subscribe(() => undefined);
  ring("board");
  ring();
  ring("servers");
  expect(asked).toBe(1);
  answer(1);
  await vi.waitFor(() => expect(asked).toBe(2));
  answer(2);
  await vi.waitFor(() => expect(observer.getCurrentResult()).toMatchObject({ data: 2, fetchStatus: "idle" }));
  ring("servers");
  expect(asked).toBe(2);
  ring("board");
  expect(asked).toBe(3);
  leave();
});
