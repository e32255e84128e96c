/** All that waits of one provider, to be read to the end; only then it can be approved at once. */
import { useEffect, useRef, useState, type ReactElement } from "react";
import { useAnswer, useDeed } from "@/api/answers";
import { useMay } from "@/api/session";
import { count } from "@/lib/words";
import { Answered, Button, Notice, Skeleton } from "@/parts";
import type { Group } from "./queue";
import { Reading } from "./Review";
import type { Reviewed } from "./told";

export function Together({ group, version, onDecided }: { group: Group; version: number; onDecided: () => void }): ReactElement {
  const deed = useDeed();
  const operates = useMay("operate");
  const end = useRef<HTMLDivElement>(null);
  const [loaded, setLoaded] = useState<ReadonlySet<string>>(new Set());
  const batch = group.server?.fingerprint ?? null;
  // Of exactly these: when another one comes, there is more to read.
  const [readAs, setRead] = useState<string | null>(null);
  const read = batch !== null && readAs === batch;
  const whole = group.tools.every(({ id, fingerprint }) => loaded.has(`${id} ${fingerprint}`));
  useEffect(() => {
    if (!whole || end.current === null) return;
    const seen = new IntersectionObserver((entries) => {
      if (entries.some((entry) => entry.isIntersecting)) setRead(batch);
    });
    seen.observe(end.current);
    return () => seen.disconnect();
  }, [whole, batch]);
  const apart = group.tools.length - (group.server?.together ?? 0);
  const approve = (): void => {
    const done = `${count(group.server?.together ?? 0, "tool")} of ${group.id} approved`;
    deed.mutate({ path: "/approvals/approve", body: { server: group.id, fingerprint: batch }, version, done, onDone: onDecided });
  };
  return (
    <div className="stack wide" aria-label={`All that waits of ${group.id}`}>
      <h2>
        {count(group.tools.length, "tool")} of <span className="mono">{group.id}</span>
      </h2>
      {group.tools.map((tool) => (
        <One key={`${tool.id} ${tool.fingerprint}`} id={tool.id} onLoaded={() => setLoaded((before) => new Set(before).add(`${tool.id} ${tool.fingerprint}`))} />
      ))}
      <div ref={end} />
      {apart > 0 && <Notice tone="broken">{count(apart, "tool")} of these look poisoned, and are approved one by one.</Notice>}
      <div className="row review-deciding">
        {operates && (
          <Button look="main" icon="check" disabled={!read} busy={deed.isPending} onClick={approve}>
            Approve {count(group.server?.together ?? 0, "tool")}
          </Button>
        )}
        {!read && <span className="quiet small">Read to the end first.</span>}
      </div>
    </div>
  );
}

function One({ id, onLoaded }: { id: string; onLoaded: () => void }): ReactElement {
  const answer = useAnswer<Reviewed>(["approvals", "board"], "/approvals/show", { tool: id }, { keeps: false });
  const tell = useRef(onLoaded);
  tell.current = onLoaded;
  const there = answer.data !== undefined;
  useEffect(() => {
    if (there) tell.current();
  }, [there]);
  return (
    <Answered of={answer} waiting={<Skeleton lines={6} height={24} />}>
      {(tool) => <Reading tool={tool} />}
    </Answered>
  );
}
