/** All waiting tools of one provider. They can be approved at once after reading to the end. */
import { useEffect, useRef, useState, type ReactElement } from "react";
import { useApiQuery, useApiMutation } from "@/api/queries";
import { useHasScope } from "@/api/session";
import { formatCount } from "@/lib/format";
import { QueryResult, Button, Notice, Skeleton } from "@/components";
import type { ToolGroup } from "./queue";
import { ToolDifference } from "./ToolReview";
import type { ToolReviewResponse } from "./types";

export function BatchReview({ group, version, onDecided }: { group: ToolGroup; version: number; onDecided: () => void }): ReactElement {
  const mutation = useApiMutation();
  const canOperate = useHasScope("operate");
  const endMarker = useRef<HTMLDivElement>(null);
  const [loadedTools, setLoadedTools] = useState<ReadonlySet<string>>(new Set());
  const batchFingerprint = group.server?.fingerprint ?? null;
  // For exactly these tools: when another one arrives, there is more to read.
  const [readBatch, setReadBatch] = useState<string | null>(null);
  const isRead = batchFingerprint !== null && readBatch === batchFingerprint;
  const isLoaded = group.tools.every(({ id, fingerprint }) => loadedTools.has(`${id} ${fingerprint}`));
  useEffect(() => {
    if (!isLoaded || endMarker.current === null) return;
    const observer = new IntersectionObserver((entries) => {
      if (entries.some((entry) => entry.isIntersecting)) setReadBatch(batchFingerprint);
    });
    observer.observe(endMarker.current);
    return () => observer.disconnect();
  }, [isLoaded, batchFingerprint]);
  const individualCount = group.tools.length - (group.server?.approvableTogether ?? 0);
  const approve = (): void => {
    const successMessage = `${formatCount(group.server?.approvableTogether ?? 0, "tool")} of ${group.id} approved`;
    mutation.mutate({ path: "/approvals/approve", body: { server: group.id, fingerprint: batchFingerprint }, version, successMessage, afterSuccess: onDecided });
  };
  return (
    <div className="stack wide" aria-label={`All that waits of ${group.id}`}>
      <h2>
        {formatCount(group.tools.length, "tool")} of <span className="mono">{group.id}</span>
      </h2>
      {group.tools.map((tool) => (
        <BatchTool key={`${tool.id} ${tool.fingerprint}`} id={tool.id} onLoaded={() => setLoadedTools((previous) => new Set(previous).add(`${tool.id} ${tool.fingerprint}`))} />
      ))}
      <div ref={endMarker} />
      {individualCount > 0 && <Notice tone="broken">{formatCount(individualCount, "tool")} of these look poisoned, and are approved one by one.</Notice>}
      <div className="row review-decision">
        {canOperate && (
          <Button variant="primary" icon="check" disabled={!isRead} busy={mutation.isPending} onClick={approve}>
            Approve {formatCount(group.server?.approvableTogether ?? 0, "tool")}
          </Button>
        )}
        {!isRead && <span className="muted small">Read to the end first.</span>}
      </div>
    </div>
  );
}

function BatchTool({ id, onLoaded }: { id: string; onLoaded: () => void }): ReactElement {
  const response = useApiQuery<ToolReviewResponse>(["approvals", "board"], "/approvals/show", { tool: id }, { keepPrevious: false });
  const notifyLoaded = useRef(onLoaded);
  notifyLoaded.current = onLoaded;
  const hasData = response.data !== undefined;
  useEffect(() => {
    if (hasData) notifyLoaded.current();
  }, [hasData]);
  return (
    <QueryResult query={response} placeholder={<Skeleton lines={6} height={24} />}>
      {(tool) => <ToolDifference tool={tool} />}
    </QueryResult>
  );
}
