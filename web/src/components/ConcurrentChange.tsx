/** Notices about decisions of other people while somebody is editing. They never discard what the person entered. */
import type { ReactElement, ReactNode } from "react";
import { useApiQuery } from "@/api/queries";
import type { VersionGuard } from "@/api/version-guard";
import type { ResponseOf } from "@/api/types";
import { Button, Link } from "./Button";
import { Notice } from "./feedback";
import { Time } from "./Time";

type ConcurrentChangeProps = {
  readonly guard: VersionGuard;
  /** What was not changed, as a sentence. */
  readonly unchanged: string;
  /** What changed, if more is known than that there was a decision. */
  readonly children?: string | undefined;
  /** An action that leaves this item and continues elsewhere. */
  readonly nextAction?: { readonly label: string; readonly onClick: () => void } | undefined;
};

export function ConcurrentChangeNotice({ guard, unchanged, children, nextAction }: ConcurrentChangeProps): ReactElement | null {
  if (!guard.outdated) return null;
  return (
    <div role="alert">
      <Notice tone="needs_action">
        <p>
          <strong>{children ?? "Someone else changed the board meanwhile."}</strong>{" "}
          {guard.rejected ? `Nothing of what you just did was carried out. ${unchanged} Do it once more if you still want it.` : `${unchanged} Decide anew.`}
        </p>
        <DecisionsSince since={guard.startVersion} />
        <div className="row tight">
          <Button small onClick={guard.accept}>
            {guard.rejected ? "Read" : "Go on with what holds now"}
          </Button>
          {nextAction !== undefined && (
            <Button small variant="primary" onClick={nextAction.onClick}>
              {nextAction.label}
            </Button>
          )}
        </div>
      </Notice>
    </div>
  );
}

/** The same notice for a result that was computed at an older policy version. */
export function OutdatedNotice({ since, children }: { since: number; children: ReactNode }): ReactElement | null {
  const decisions = useDecisionsSince(since);
  if (decisions === undefined || decisions.policyVersion <= since) return null;
  return (
    <div role="alert">
      <Notice tone="needs_action">
        <p>
          <strong>Someone else changed the board meanwhile.</strong> {children}
        </p>
        <DecisionsSince since={since} />
      </Notice>
    </div>
  );
}

function useDecisionsSince(since: number): ResponseOf<"/policy/decisions"> | undefined {
  return useApiQuery<ResponseOf<"/policy/decisions">>(["policy", "activity"], "/policy/decisions", { after: since }, { keepPrevious: false }).data;
}

/** The decisions since a policy version, in the gateway's words. */
export function DecisionsSince({ since }: { since: number }): ReactElement | null {
  const response = useDecisionsSince(since);
  if (response === undefined || response.decisions.length === 0) return null;
  return (
    <ul className="dotted small" aria-label="Decided meanwhile">
      {response.decisions.map((decision) => (
        <li key={decision.id} className="wrap-any">
          <b>{decision.by}</b> <Time at={decision.at} />: {decision.subject !== null && <code>{decision.subject}</code>} {decision.message}
        </li>
      ))}
      {response.hasMore && (
        <li>
          <Link to="/activity" query={{ kind: "decision" }}>
            and more
          </Link>
        </li>
      )}
    </ul>
  );
}
