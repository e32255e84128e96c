/** A value of JSON as a tree that opens and closes. */
import { useState, type ReactElement } from "react";
import { count } from "@/lib/words";
import { Plain } from "./Plain";

const MOST = 200;

/** By JSON pointer, what is shown in place of a number that JavaScript has rounded or writes otherwise. */
type ExactNumbers = Readonly<Record<string, string>>;

export function Json({ value, depth = 2, exactNumbers = {} }: { value: unknown; depth?: number; exactNumbers?: ExactNumbers }): ReactElement {
  return (
    <div className="json">
      <Branch value={value} depth={depth} pointer="" exactNumbers={exactNumbers} />
    </div>
  );
}

interface BranchProps {
  readonly name?: string;
  readonly value: unknown;
  readonly depth: number;
  readonly pointer: string;
  readonly exactNumbers: ExactNumbers;
}

function Branch({ name, value, depth, pointer, exactNumbers }: BranchProps): ReactElement {
  const [shown, setShown] = useState(MOST);
  if (typeof value !== "object" || value === null) {
    return (
      <div className="json-leaf">
        {name !== undefined && <span className="json-name"><Plain text={name} strict />: </span>}
        <Leaf value={value} exact={exactNumbers[pointer]} />
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
        <Branch key={key} name={key} value={each} depth={depth - 1} pointer={`${pointer}/${escaped(key)}`} exactNumbers={exactNumbers} />
      ))}
      {entries.length > shown && (
        <button type="button" className="button look-bare is-small" onClick={() => setShown(shown + 1000)}>
          {entries.length - shown} more
        </button>
      )}
    </details>
  );
}

/** A name as a part of a JSON pointer (RFC 6901). */
function escaped(name: string): string {
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}

function Leaf({ value, exact }: { value: unknown; exact: string | undefined }): ReactElement {
  if (typeof value === "string") return <span className="json-text"><Plain text={JSON.stringify(value)} strict /></span>;
  return <span className="json-plain">{typeof value === "number" ? (exact ?? String(value)) : String(value)}</span>;
}
