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
      className={`tool-card is-${tool.state} ${highlighted ? "is-highlighted" : ""}`}
      data-tool={tool.id}
      aria-pressed={selected}
      aria-label={`${tool.name}, ${STATE_LABELS[tool.state]}${tool.overridden ? ", overridden" : ""}`}
      aria-describedby={describedBy}
      tabIndex={tabIndex}
    >
      <StateMark state={tool.state} label="none" />
      <span className="tool-card-name truncate">{tool.name}</span>
      {tool.overridden && (
        <span className="tool-card-overridden" title="overridden">
          <Icon name="pencil" size={12} />
        </span>
      )}
      <span className="tool-card-provider">
        <Icon name={providerIcon(tool.provider)} size={13} />
      </span>
    </button>
  );
});
