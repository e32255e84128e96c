/** A value of JSON as a tree that opens and closes. */
import { useState, type ReactElement } from "react";
import { count } from "@/lib/words";
import { Plain } from "./Plain";

const MOST = 200;

export function Json({ value, depth = 2 }: { value: unknown; depth?: number }): ReactElement {
  return (
    <div className="json">
      <Branch value={value} depth={depth} />
    </div>
  );
}

function Branch({ name, value, depth }: { name?: string; value: unknown; depth: number }): ReactElement {
  const [shown, setShown] = useState(MOST);
  if (typeof value !== "object" || value === null) {
    return (
      <div className="json-leaf">
        {name !== undefined && <span className="json-name"><Plain text={name} strict />: </span>}
        <Leaf value={value} />
      </div>
    );
  }
  const entries = Object.entries(value);
  const many = Array.isArray(value) ? count(entries.length, "item") : count(entries.length, "field");
  return (
    <details className="json-branch" open={depth > 0}>
      <summary>
        {name !== undefined && <span className="json-name"><Plain text={name} strict />: </span>}
        <span className="quiet">
          {Array.isArray(value) ? "[…]" : "{…}"} {many}
        </span>
      </summary>
      {entries.slice(0, shown).map(([key, each]) => (
        <Branch key={key} name={key} value={each} depth={depth - 1} />
      ))}
      {entries.length > shown && (
        <button type="button" className="button look-bare is-small" onClick={() => setShown(shown + 1000)}>
          {entries.length - shown} more
        </button>
      )}
    </details>
  );
}

function Leaf({ value }: { value: unknown }): ReactElement {
  if (typeof value === "string") return <span className="json-text"><Plain text={JSON.stringify(value)} strict /></span>;
  return <span className="json-plain">{String(value)}</span>;
}
