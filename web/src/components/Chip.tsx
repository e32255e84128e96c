import type { ReactElement, ReactNode } from "react";
import { formatNumber } from "@/lib/format";

/** A toggle button. */
export function Chip({
  pressed,
  onChange,
  count,
  children,
  label,
}: {
  pressed: boolean;
  onChange: (pressed: boolean) => void;
  count?: number;
  children: ReactNode;
  label?: string;
}): ReactElement {
  return (
    <button type="button" className="chip" aria-pressed={pressed} aria-label={label} onClick={() => onChange(!pressed)}>
      {children}
      {count !== undefined && <span className="chip-count">{formatNumber(count)}</span>}
    </button>
  );
}

/** A short label beside something: "claimed", "v2", "Disabled". */
export function Tag({
  tone = "plain",
  children,
  title,
}: {
  tone?: "plain" | "open" | "needs_action" | "broken" | "locked";
  children: ReactNode;
  title?: string;
}): ReactElement {
  return (
    <span className={`tag tone-${tone}`} title={title}>
      {children}
    </span>
  );
}

/** A group of toggle buttons, for example all states. */
export function ChipGroup<T extends string>({
  name,
  options,
  selected,
  onChange,
  counts,
  renderOption,
}: {
  name: string;
  options: readonly T[];
  selected: readonly string[];
  onChange: (selected: readonly string[]) => void;
  counts?: Readonly<Partial<Record<T, number>>>;
  renderOption?: (option: T) => ReactNode;
}): ReactElement {
  return (
    <div className="row tight" role="group" aria-label={name}>
      {options.map((option) => {
        const optionCount = counts?.[option];
        return (
          <Chip
            key={option}
            pressed={selected.includes(option)}
            {...(optionCount === undefined ? {} : { count: optionCount })}
            onChange={(on) => onChange(on ? [...selected, option] : selected.filter((other) => other !== option))}
          >
            {renderOption ? renderOption(option) : option}
          </Chip>
        );
      })}
    </div>
  );
}
