/** A name that no peg has: what `why` says to it, with near names as links and the servers whose tools nobody knows. */
import { useEffect, useState, type ReactElement } from "react";
import { useAnswer } from "@/api/answers";
import type { Answer, Unheard } from "@/api/types";
import type { Query } from "@/lib/place";
import { Link, Skeleton } from "@/parts";
import { Unlocking } from "./acting";

const PAUSE = 250;

/** Asked once the typing rests, and again whenever the board changes. */
export function InVain({ text, view, version, onGo }: { text: string; view: Query; version: number | undefined; onGo?: () => void }): ReactElement | null {
  const [asked, ask] = useState(text);
  useEffect(() => {
    const later = setTimeout(() => ask(text), PAUSE);
    return () => clearTimeout(later);
  }, [text]);
  const why = useAnswer<Answer<"/why">>(["board", "servers", "policy"], "/why", { tool: asked.trim(), ...view }, { when: asked.trim() !== "", keeps: false });
  if (asked.trim() === "") return null;
  if (why.isPending) return <Skeleton lines={2} />;
  if (why.data !== undefined) {
    return (
      <div className="stack in-vain" role="status">
        <p>
          <ToolLink id={why.data.id} onGo={onGo} /> {why.data.verdict === "open" ? "is open." : why.data.sentence}
        </p>
      </div>
    );
  }
  const told = (why.error?.body ?? {}) as { readonly tools?: readonly string[]; readonly unheard?: readonly Unheard[] };
  const near = told.tools ?? [];
  const silent = told.unheard ?? [];
  if (near.length === 0 && silent.length === 0) {
    return (
      <p className="in-vain wrap-any" role="status">
        {why.error?.message}
      </p>
    );
  }
  return (
    <div className="stack in-vain" role="status">
      <p className="wrap-any">
        No tool that is known here is called <b className="mono">{asked.trim()}</b>.
      </p>
      {near.length > 0 && (
        <p>
          Did you mean{" "}
          {near.map((id, at) => (
            <span key={id}>
              {at > 0 && ", "}
              <ToolLink id={id} onGo={onGo} />
            </span>
          ))}
          ?
        </p>
      )}
      {silent.length > 0 && (
        <>
          <p>It may be a tool of one of these, of which nobody knows what they have:</p>
          <Silent of={silent} version={version} />
        </>
      )}
    </div>
  );
}

/** Servers whose tools nobody knows, each with the act that brings it up; and why, where that was not `said` above. */
export function Silent({ of, version, said = "" }: { of: readonly Unheard[]; version: number | undefined; said?: string }): ReactElement {
  return (
    <ul className="stack tight in-vain-silent">
      {of.map((each) => (
        <li key={each.id} className="row apart">
          <span className="wrap-any">
            <span className="mono">{each.id}</span> {!said.includes(each.sentence) && <span className="quiet">{each.sentence}</span>}
          </span>
          <Unlocking peg={{ name: each.id, action: each.action }} version={version} />
        </li>
      ))}
    </ul>
  );
}

function ToolLink({ id, onGo }: { id: string; onGo: (() => void) | undefined }): ReactElement {
  return (
    <Link to="/tool" query={{ id }} className="mono wrap-any" {...(onGo === undefined ? {} : { onClick: onGo })}>
      {id}
    </Link>
  );
}
