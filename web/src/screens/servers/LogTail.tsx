/** What a server wrote to its error stream: the last lines, and what comes after them. */
import { useEffect, useLayoutEffect, useRef, useState, type ReactElement } from "react";
import { ask } from "@/api/client";
import type { Log, LogLevel } from "@/api/servers";
import { useFlagParam, useParam } from "@/lib/place";
import { Check, CopyButton, Select, Skeleton, Trouble } from "@/parts";
import { serverPath } from "./acting";
import { joined, type Tail } from "./tail";

const AGAIN = 1500;
const LEVELS: readonly LogLevel[] = ["debug", "info", "warning", "error"];

export function LogTail({ id }: { id: string }): ReactElement {
  const [level, setLevel] = useParam("level", "debug");
  const [still, setStill] = useFlagParam("still");
  const [tail, setTail] = useState<Tail | null>(null);
  const [error, setError] = useState<unknown>(null);
  const box = useRef<HTMLPreElement>(null);
  useEffect(() => {
    const ended = new AbortController();
    let later: ReturnType<typeof setTimeout> | undefined;
    let after: string | null = null;
    const read = async (): Promise<void> => {
      try {
        const log = await ask<Log>(serverPath(id, "/log"), { query: { level, after }, signal: ended.signal });
        const goesOn: boolean = after !== null && log.continues;
        setTail((before) => (goesOn ? joined(before, log) : joined(null, log)));
        setError(null);
        after = log.next;
      } catch (problem) {
        if (ended.signal.aborted) return;
        setError(problem);
      }
      if (!still && !ended.signal.aborted) later = setTimeout(() => void read(), AGAIN);
    };
    void read();
    return () => {
      ended.abort();
      clearTimeout(later);
    };
  }, [id, level, still]);
  useLayoutEffect(() => {
    if (!still && box.current !== null) box.current.scrollTop = box.current.scrollHeight;
  }, [tail, still]);
  const text = (tail?.lines ?? []).join("\n");
  return (
    <div className="stack">
      <div className="row log-controls">
        <Select label="Least level" unlabelled value={level} onChange={setLevel} choices={LEVELS.map((each) => ({ value: each, label: each === "debug" ? "every level" : `${each} and graver` }))} />
        <Check label="Follow" on={!still} onChange={(on) => setStill(!on)} />
        <CopyButton text={text} />
      </div>
      {error !== null && <Trouble error={error} />}
      {tail === null ? (
        error === null && <Skeleton lines={8} />
      ) : (
        <pre className="code log" ref={box} tabIndex={0} aria-label="Log" role="log" aria-live="off">
          {tail.lines.length === 0 ? (
            <span className="quiet">{level === "debug" ? "It has written nothing to its error stream." : "Nothing so grave was written."}</span>
          ) : (
            tail.lines.map((line, at) => (
              <span key={tail.first + at} className={`log-line is-${tail.levels[at]}`}>
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
