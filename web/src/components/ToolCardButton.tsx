/** A tool on the board, as a button. */
import { memo, type ReactElement } from "react";
import type { ToolCard } from "@/api/types";
import { Icon, providerIcon } from "./icons";
import { STATE_LABELS, StateMark } from "./StateMark";

export type ToolCardButtonProps = {
  readonly tool: Pick<ToolCard, "id" | "name" | "state" | "provider" | "overridden">;
  /** Selected for an action on several tools. */
  readonly selected?: boolean;
  /** Another card of the same tool has its details open. */
  readonly highlighted?: boolean;
  readonly tabIndex?: number;
  /** The id of the element with its details. */
  readonly describedBy?: string;
};

export const ToolCardButton = memo(function ToolCardButton({ tool, selected = false, highlighted = false, tabIndex = 0, describedBy }: ToolCardButtonProps): ReactElement {
  return (
    <button
      type="button"
      className={`peg is-${tool.state} ${highlighted ? "is-lit" : ""}`}
      data-tool={tool.id}
      aria-pressed={selected}
      aria-label={`${tool.name}, ${STATE_LABELS[tool.state]}${tool.overridden ? ", overridden" : ""}`}
      aria-describedby={describedBy}
      tabIndex={tabIndex}
    >
      <StateMark state={tool.state} label="none" />
      <span className="peg-name cut">{tool.name}</span>
      {tool.overridden && (
        <span className="peg-mark" title="overridden">
          <Icon name="pencil" size={12} />
        </span>
      )}
      <span className="peg-provider">
        <Icon name={providerIcon(tool.provider)} size={13} />
      </span>
    </button>
  );
});
