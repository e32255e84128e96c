/** What others decided while somebody was deciding: told where they do, at once, and nothing of theirs is taken away. */
import type { ReactElement, ReactNode } from "react";
import { useAnswer } from "@/api/answers";
import type { Stand } from "@/api/standing";
import type { Answer } from "@/api/types";
import { Button, Link } from "./Button";
import { Notice } from "./states";
import { Time } from "./Time";

type Told = {
  readonly of: Stand;
  /** What stays as it was. */
  readonly kept: string;
  /** What changed, where more is known than that somebody decided something. */
  readonly children?: string | undefined;
  /** A way past what was decided. */
  readonly onward?: { readonly label: string; readonly go: () => void } | undefined;
};

export function Meanwhile({ of: stand, kept, children, onward }: Told): ReactElement | null {
  if (!stand.moved) return null;
  return (
    <div role="alert">
      <Notice tone="wants">
        <p>
          <strong>{children ?? "Someone else changed the board meanwhile."}</strong>{" "}
          {stand.refused ? `Nothing of what you just did was carried out. ${kept} Do it once more if you still want it.` : `${kept} Decide anew.`}
        </p>
        <Decided since={stand.from} />
        <div className="row tight">
          <Button small onClick={stand.renew}>
            {stand.refused ? "Read" : "Go on with what holds now"}
          </Button>
          {onward !== undefined && (
            <Button small look="main" onClick={onward.go}>
              {onward.label}
            </Button>
          )}
        </div>
      </Notice>
    </div>
  );
}

/** The same of what was worked out at one version and is shown until it is worked out anew. */
export function Outdated({ since, children }: { since: number; children: ReactNode }): ReactElement | null {
  const told = useDecided(since);
  if (told === undefined || told.policyVersion <= since) return null;
  return (
    <div role="alert">
      <Notice tone="wants">
        <p>
          <strong>Someone else changed the board meanwhile.</strong> {children}
        </p>
        <Decided since={since} />
      </Notice>
    </div>
  );
}

function useDecided(since: number): Answer<"/policy/decisions"> | undefined {
  return useAnswer<Answer<"/policy/decisions">>(["policy", "activity"], "/policy/decisions", { after: since }, { keeps: false }).data;
}

/** Who decided what since that version of the policy, in the gateway's words. */
export function Decided({ since }: { since: number }): ReactElement | null {
  const told = useDecided(since);
  if (told === undefined || told.decisions.length === 0) return null;
  return (
    <ul className="dotted small" aria-label="Decided meanwhile">
      {told.decisions.map((each) => (
        <li key={each.id} className="wrap-any">
          <b>{each.by}</b> <Time at={each.at} />: {each.about !== null && <code>{each.about}</code>} {each.said}
        </li>
      ))}
      {told.more && (
        <li>
          <Link to="/activity" query={{ kind: "decision" }}>
            and more
          </Link>
        </li>
      )}
    </ul>
  );
}
