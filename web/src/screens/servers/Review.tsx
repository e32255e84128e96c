/** A server that waits for its review: one look at what it would bring, then its release. */
import type { ReactElement } from "react";
import { useDeed } from "@/api/answers";
import type { Reviewed, Server } from "@/api/servers";
import { count } from "@/lib/words";
import { Button, Notice, Trouble } from "@/parts";
import { serverPath } from "./acting";
import { Offer } from "./Offer";

export function Review({ server, may }: { server: Server; may: boolean }): ReactElement {
  const look = useDeed<Reviewed>({ silent: true });
  const release = useDeed();
  const seen = look.data;
  return (
    <div className="stack">
      <Notice
        tone="wants"
        action={
          may &&
          seen === undefined && (
            <Button look="main" busy={look.isPending} onClick={() => look.mutate({ path: serverPath(server.id, "/review"), body: { read: server.mark } })}>
              Look at it once
            </Button>
          )
        }
      >
        <span className="wrap-any">{server.review}</span>
      </Notice>
      {look.error !== null && <Trouble error={look.error} />}
      {seen !== undefined && (
        <section className="sheet stack">
          <h2>{seen.answered ? `It would bring ${count(seen.tools.length, "tool")}` : "It brought nothing"}</h2>
          <Offer tools={seen.tools} flaws={seen.flaws} lines={seen.answered ? [] : seen.lines} />
          {may && (
            <div className="row">
              <Button
                look="main"
                busy={release.isPending}
                onClick={() =>
                  release.mutate({
                    path: serverPath(server.id, "/release"),
                    body: { read: seen.mark },
                    done: `${server.serverId ?? server.id} is released; its tools wait for approval`,
                  })
                }
              >
                Release it
              </Button>
              <span className="quiet small">It starts, and every tool that it lists waits for approval.</span>
            </div>
          )}
        </section>
      )}
    </div>
  );
}
