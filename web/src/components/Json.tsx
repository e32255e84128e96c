/** A JSON value as a tree with collapsible branches. */
import { useState, type ReactElement } from "react";
import { formatCount } from "@/lib/format";
import { VisibleText } from "./VisibleText";

const INITIAL_ENTRIES = 200;

/** By JSON pointer: the text to show for a number that JavaScript rounds or writes differently. */
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
  const [shownCount, setShownCount] = useState(INITIAL_ENTRIES);
  if (typeof value !== "object" || value === null) {
    return (
      <div className="json-leaf">
        {name !== undefined && <span className="json-name"><VisibleText text={name} strict />: </span>}
        <Leaf value={value} exact={exactNumbers[pointer]} />
      </div>
    );
  }
  const entries = Object.entries(value);
  const size = Array.isArray(value) ? formatCount(entries.length, "item") : formatCount(entries.length, "field");
  return (
    <details className="json-branch" open={depth > 0}>
      <summary>
        {name !== undefined && <span className="json-name"><VisibleText text={name} strict />: </span>}
        <span className="muted">
          {Array.isArray(value) ? "[…]" : "{…}"} {size}
        </span>
      </summary>
      {entries.slice(0, shownCount).map(([key, each]) => (
        <Branch key={key} name={key} value={each} depth={depth - 1} pointer={`${pointer}/${escapePointer(key)}`} exactNumbers={exactNumbers} />
      ))}
      {entries.length > shownCount && (
        <button type="button" className="button variant-ghost is-small" onClick={() => setShownCount(shownCount + 1000)}>
          {entries.length - shownCount} more
        </button>
      )}
    </details>
  );
}

/** A key as a segment of a JSON pointer (RFC 6901). */
function escapePointer(name: string): string {
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}

function Leaf({ value, exact }: { value: unknown; exact: string | undefined }): ReactElement {
  if (typeof value === "string") return <span className="json-text"><VisibleText text={JSON.stringify(value)} strict /></span>;
  return <span className="json-plain">{typeof value === "number" ? (exact ?? String(value)) : String(value)}</span>;
}
