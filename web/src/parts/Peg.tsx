/** A tool on the wall: a tag in its outline. */
import { memo, type ReactElement } from "react";
import type { Peg as Told } from "@/api/types";
import { Icon, providerIcon } from "./icons";
import { STATE_WORDS, StateMark } from "./marks";

export type PegLooks = {
  readonly peg: Pick<Told, "id" | "name" | "state" | "provider" | "overridden">;
  /** Chosen, for what is done to many. */
  readonly chosen?: boolean;
  /** The same tool is looked at elsewhere on the wall. */
  readonly lit?: boolean;
  readonly tabIndex?: number;
  /** The id of what says more of it. */
  readonly describedBy?: string;
};

export const Peg = memo(function Peg({ peg, chosen = false, lit = false, tabIndex = 0, describedBy }: PegLooks): ReactElement {
  return (
    <button
      type="button"
      className={`peg is-${peg.state} ${lit ? "is-lit" : ""}`}
      data-tool={peg.id}
      aria-pressed={chosen}
      aria-label={`${peg.name}, ${STATE_WORDS[peg.state]}${peg.overridden ? ", overridden" : ""}`}
      aria-describedby={describedBy}
      tabIndex={tabIndex}
    >
      <StateMark state={peg.state} word="none" />
      <span className="peg-name cut">{peg.name}</span>
      {peg.overridden && (
        <span className="peg-mark" title="overridden">
          <Icon name="pencil" size={12} />
        </span>
      )}
      <span className="peg-provider">
        <Icon name={providerIcon(peg.provider)} size={13} />
      </span>
    </button>
  );
});
