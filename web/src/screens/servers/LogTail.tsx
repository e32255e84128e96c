/** The last lines of a server's error stream, and new ones as they arrive. */
import { useEffect, useLayoutEffect, useRef, useState, type ReactElement } from "react";
import { request } from "@/api/client";
import type { Log, LogLevel } from "@/api/servers";
import { useFlagParam, useParam } from "@/lib/router";
import { Checkbox, CopyButton, Select, Skeleton, ErrorMessage } from "@/components";
import { serverPath } from "./server-actions";
import { appendLog, type LogLines } from "./log-tail";

const POLL_INTERVAL_MS = 1500;
const LEVELS: readonly LogLevel[] = ["debug", "info", "warning", "error"];

export function LogTail({ id }: { id: string }): ReactElement {
  const [level, setLevel] = useParam("level", "debug");
  const [paused, setPaused] = useFlagParam("still");
  const [tail, setTail] = useState<LogLines | null>(null);
  const [error, setError] = useState<unknown>(null);
  const container = useRef<HTMLPreElement>(null);
  useEffect(() => {
    const controller = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let after: string | null = null;
    const fetchLog = async (): Promise<void> => {
      try {
        const log = await request<Log>(serverPath(id, "/log"), { query: { level, after }, signal: controller.signal });
        const isContinuation: boolean = after !== null && log.continues;
        setTail((previous) => (isContinuation ? appendLog(previous, log) : appendLog(null, log)));
        setError(null);
        after = log.next;
      } catch (problem) {
        if (controller.signal.aborted) return;
        setError(problem);
      }
      if (!paused && !controller.signal.aborted) timer = setTimeout(() => void fetchLog(), POLL_INTERVAL_MS);
    };
    void fetchLog();
    return () => {
      controller.abort();
      clearTimeout(timer);
    };
  }, [id, level, paused]);
  useLayoutEffect(() => {
    if (!paused && container.current !== null) container.current.scrollTop = container.current.scrollHeight;
  }, [tail, paused]);
  const text = (tail?.lines ?? []).join("\n");
  return (
    <div className="stack">
      <div className="row log-controls">
        <Select label="Least level" hideLabel value={level} onChange={setLevel} options={LEVELS.map((each) => ({ value: each, label: each === "debug" ? "every level" : `${each} and graver` }))} />
        <Checkbox label="Follow" checked={!paused} onChange={(on) => setPaused(!on)} />
        <CopyButton text={text} />
      </div>
      {error !== null && <ErrorMessage error={error} />}
      {tail === null ? (
        error === null && <Skeleton lines={8} />
      ) : (
        <pre className="code log" ref={container} tabIndex={0} aria-label="Log" role="log" aria-live="off">
          {tail.lines.length === 0 ? (
            <span className="muted">{level === "debug" ? "It has written nothing to its error stream." : "Nothing so grave was written."}</span>
          ) : (
            tail.lines.map((line, index) => (
              <span key={tail.first + index} className={`log-line is-${tail.levels[index]}`}>
                {line}
                {"\n"}
              </span>
            ))
          )}
        </pre>
      )}
    </div>
  );
}
