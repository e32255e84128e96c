/** A tool on the board, as a button. */
import { memo, type ReactElement } from "react";
import type { ToolCard as Told } from "@/api/types";
import { Icon, providerIcon } from "./icons";
import { STATE_LABELS, StateMark } from "./StateMark";

export type ToolCardButtonProps = {
  readonly tool: Pick<Told, "id" | "name" | "state" | "provider" | "overridden">;
  /** Selected for an action on several tools. */
  readonly selected?: boolean;
  /** Another card of the same tool has its details open. */
  readonly highlighted?: boolean;
  readonly tabIndex?: number;
  /** The id of the element with its details. */
  readonly describedBy?: string;
};

export const ToolCardButton = memo(function ToolCardButton({ tool: peg, selected: chosen = false, highlighted: lit = false, tabIndex = 0, describedBy }: ToolCardButtonProps): ReactElement {
  return (
    <button
      type="button"
      className={`peg is-${peg.state} ${lit ? "is-lit" : ""}`}
      data-tool={peg.id}
      aria-pressed={chosen}
      aria-label={`${peg.name}, ${STATE_LABELS[peg.state]}${peg.overridden ? ", overridden" : ""}`}
      aria-describedby={describedBy}
      tabIndex={tabIndex}
    >
      <StateMark state={peg.state} label="none" />
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
