import { useId, useRef, type ReactElement, type ReactNode } from "react";

export type Tab<T extends string> = { readonly id: T; readonly label: ReactNode; readonly count?: number };

/** Tabs with arrow key navigation. Keep the selected tab in the URL: `useParam("tab", "why")`. */
export function Tabs<T extends string>({
  name,
  tabs,
  selected,
  onChange,
  children,
}: {
  name: string;
  tabs: readonly Tab<T>[];
  selected: T;
  onChange: (tab: T) => void;
  children: ReactNode;
}): ReactElement {
  const id = useId();
  const list = useRef<HTMLDivElement>(null);
  const moveSelection = (offset: number): void => {
    const index = tabs.findIndex((tab) => tab.id === selected);
    const next = tabs[(index + offset + tabs.length) % tabs.length];
    if (next === undefined) return;
    onChange(next.id);
    list.current?.querySelector<HTMLElement>(`[data-tab="${next.id}"]`)?.focus();
  };
  return (
    <div className="tabs">
      <div
        className="tab-list"
        role="tablist"
        aria-label={name}
        ref={list}
        onKeyDown={(event) => {
          if (event.key === "ArrowRight") moveSelection(1);
          else if (event.key === "ArrowLeft") moveSelection(-1);
          else return;
          event.preventDefault();
        }}
      >
        {tabs.map((tab) => (
          <button
            key={tab.id}
            type="button"
            role="tab"
            id={`${id}-${tab.id}`}
            data-tab={tab.id}
            aria-selected={tab.id === selected}
            aria-controls={`${id}-panel`}
            tabIndex={tab.id === selected ? 0 : -1}
            onClick={() => onChange(tab.id)}
          >
            {tab.label}
            {tab.count !== undefined && tab.count > 0 && <span className="chip-count">{tab.count}</span>}
          </button>
        ))}
      </div>
      <div className="tab-panel" role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-${selected}`} tabIndex={0}>
        {children}
      </div>
    </div>
  );
}
