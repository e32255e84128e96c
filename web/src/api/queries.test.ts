import { QueryObserver } from "@tanstack/react-query";
import { expect, test, vi } from "vitest";
import { queryClient, invalidate } from "./queries";

test("a change does not cancel a running fetch, and refetches after it", async () => {
  let path = 0;
  let respond: (value: number) => void = () => undefined;
  const observer = new QueryObserver<number>(queryClient, {
    queryKey: [["board"], "/slow", ""],
    queryFn: () => {
      path += 1;
      return new Promise((done) => {
        respond = done;
      });
    },
  });
  const unsubscribe = observer.subscribe(() => undefined);
  invalidate("board");
  invalidate();
  invalidate("servers");
  expect(path).toBe(1);
  respond(1);
  await vi.waitFor(() => expect(path).toBe(2));
  respond(2);
  await vi.waitFor(() => expect(observer.getCurrentResult()).toMatchObject({ data: 2, fetchStatus: "idle" }));
  invalidate("servers");
  expect(path).toBe(2);
  invalidate("board");
  expect(path).toBe(3);
  unsubscribe();
});
