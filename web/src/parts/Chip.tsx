import type { ReactElement, ReactNode } from "react";
import { number } from "@/lib/words";

/** A choice that is on or off. */
export function Chip({
  on,
  onChange,
  count,
  children,
  label,
}: {
  on: boolean;
  onChange: (on: boolean) => void;
  count?: number;
  children: ReactNode;
  label?: string;
}): ReactElement {
  return (
    <button type="button" className="chip" aria-pressed={on} aria-label={label} onClick={() => onChange(!on)}>
      {children}
      {count !== undefined && <span className="chip-count">{number(count)}</span>}
    </button>
  );
}

/** A word that stands beside something: "claimed", "v2", "Disabled". */
export function Tag({
  tone = "plain",
  children,
  title,
}: {
  tone?: "plain" | "open" | "wants" | "broken" | "locked";
  children: ReactNode;
  title?: string;
}): ReactElement {
  return (
    <span className={`tag tone-${tone}`} title={title}>
      {children}
    </span>
  );
}

/** Several chips of one list: `state`, `provider`. */
export function Chips<T extends string>({
  name,
  among,
  chosen,
  onChange,
  counts,
  show,
}: {
  name: string;
  among: readonly T[];
  chosen: readonly string[];
  onChange: (chosen: readonly string[]) => void;
  counts?: Readonly<Partial<Record<T, number>>>;
  show?: (each: T) => ReactNode;
}): ReactElement {
  return (
    <div className="row tight" role="group" aria-label={name}>
      {among.map((each) => {
        const many = counts?.[each];
        return (
          <Chip
            key={each}
            on={chosen.includes(each)}
            {...(many === undefined ? {} : { count: many })}
            onChange={(on) => onChange(on ? [...chosen, each] : chosen.filter((other) => other !== each))}
          >
            {show ? show(each) : each}
          </Chip>
        );
      })}
    </div>
  );
}
