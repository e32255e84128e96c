/** A server that waits for a review: a look at its tools, then its release. */
import type { ReactElement } from "react";
import { useApiMutation } from "@/api/queries";
import type { ServerReview, Server } from "@/api/servers";
import { formatCount } from "@/lib/format";
import { Button, Notice, ErrorMessage } from "@/components";
import { serverPath } from "./server-actions";
import { OfferedTools } from "./OfferedTools";

export function ServerReviewPanel({ server, canOperate }: { server: Server; canOperate: boolean }): ReactElement {
  const reviewMutation = useApiMutation<ServerReview>({ silent: true });
  const releaseMutation = useApiMutation();
  const reviewed = reviewMutation.data;
  return (
    <div className="stack">
      <Notice
        tone="needs_action"
        action={
          canOperate &&
          reviewed === undefined && (
            <Button variant="primary" busy={reviewMutation.isPending} onClick={() => reviewMutation.mutate({ path: serverPath(server.id, "/review"), body: { fingerprint: server.fingerprint } })}>
              Look at it once
            </Button>
          )
        }
      >
        <span className="wrap-any">{server.review}</span>
      </Notice>
      {reviewMutation.error !== null && <ErrorMessage error={reviewMutation.error} />}
      {reviewed !== undefined && (
        <section className="sheet stack">
          <h2>{reviewed.answered ? `It would bring ${formatCount(reviewed.tools.length, "tool")}` : "It brought nothing"}</h2>
          <OfferedTools tools={reviewed.tools} problems={reviewed.problems} logLines={reviewed.answered ? [] : reviewed.logTail} />
          {canOperate && (
            <div className="row">
              <Button
                variant="primary"
                busy={releaseMutation.isPending}
                onClick={() =>
                  releaseMutation.mutate({
                    path: serverPath(server.id, "/release"),
                    body: { fingerprint: reviewed.fingerprint },
                    successMessage: `${server.serverId ?? server.id} is released; its tools wait for approval`,
                  })
                }
              >
                Release it
              </Button>
              <span className="muted small">It starts, and every tool that it lists waits for approval.</span>
            </div>
          )}
        </section>
      )}
    </div>
  );
}
