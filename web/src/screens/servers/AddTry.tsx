/** Step two: each is started once, apart from the board, and shows what it would bring. */
import type { ReactElement, ReactNode } from "react";
import { number } from "@/lib/words";
import { Button, Check, Notice, Skeleton, StateWords, Trouble } from "@/parts";
import { Candidate } from "./AddWhere";
import { Offer } from "./Offer";
import type { Picked } from "./picking";

export function AddTry({
  picked,
  amend,
  again,
  actions,
}: {
  picked: readonly Picked[];
  amend: (key: string, change: Partial<Picked>) => void;
  again: (pick: Picked) => void;
  actions: ReactNode;
}): ReactElement {
  return (
    <div className="stack wide">
      {picked.map((pick) => (
        <section key={pick.key} className="sheet stack" aria-label={pick.read.name} aria-busy={pick.trying}>
          <div className="row apart">
            <Candidate server={{ ...pick.read, problems: [] }} />
            {!pick.trying && (
              <Button small icon="again" onClick={() => again(pick)}>
                Try again
              </Button>
            )}
          </div>
          <Outcome pick={pick} />
          {!pick.trying && picked.length + (pick.tried?.state === "failed" ? 1 : 0) > 1 && (
            <Check label="Add this one" on={pick.wanted} onChange={(wanted) => amend(pick.key, { wanted })} />
          )}
        </section>
      ))}
      <p className="quiet small">Nothing is saved yet, and what was started has ended again.</p>
      <div className="row">{actions}</div>
    </div>
  );
}

function Outcome({ pick }: { pick: Picked }): ReactElement {
  if (pick.trying) {
    return (
      <div role="status" className="stack wraps-mark">
        <StateWords state="locked">It starts once, to see what it lists …</StateWords>
        <Skeleton lines={4} height={32} />
      </div>
    );
  }
  const { tried } = pick;
  if (tried === null) return <Trouble error={pick.error ?? new Error("It was not tried.")} />;
  return (
    <div className="stack">
      {tried.state === "failed" ? (
        <Trouble error={new Error(tried.sentence)} />
      ) : tried.state === "needs_sign_in" ? (
        <Notice tone="wants">{tried.sentence}</Notice>
      ) : (
        <p role="status" className="wraps-mark">
          <StateWords state="open">{tried.sentence}</StateWords>
        </p>
      )}
      {tried.warnings.map((warning) => (
        <Notice key={warning} tone="wants">
          <span className="wrap-any">{warning}</span>
        </Notice>
      ))}
      <Offer tools={tried.tools} flaws={tried.flaws} lines={tried.state === "answered" ? [] : tried.lines} />
      {tried.tools.length > 1 && <p className="quiet small">{number(tried.tokens)} tokens in all. A click on a tool shows its own words.</p>}
    </div>
  );
}
