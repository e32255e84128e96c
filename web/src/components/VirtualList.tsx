import { useVirtualizer, useWindowVirtualizer } from "@tanstack/react-virtual";
import { useLayoutEffect, useRef, useState, type Key, type ReactElement, type ReactNode } from "react";

/** A long list in its own scroll container: only visible rows are rendered. `height` gives the height of each row. */
export function VirtualList<T>({
  name,
  rows,
  rowKey,
  height,
  boxHeight,
  children,
}: {
  name: string;
  rows: readonly T[];
  rowKey: (row: T) => Key;
  height: (row: T) => number;
  /** CSS: "60vh", "400px". */
  boxHeight: string;
  children: (row: T) => ReactNode;
}): ReactElement {
  const container = useRef<HTMLDivElement>(null);
  const list = useVirtualizer({
    count: rows.length,
    getScrollElement: () => container.current,
    estimateSize: (index) => height(rows[index] as T),
    getItemKey: (index) => rowKey(rows[index] as T),
    overscan: 8,
  });
  return (
    <div className="virtual" ref={container} style={{ height: boxHeight }} tabIndex={0} role="list" aria-label={name}>
      <div className="virtual-all" style={{ height: list.getTotalSize() }} role="presentation">
        {list.getVirtualItems().map((item) => (
          <div
            key={item.key}
            className="virtual-row"
            role="listitem"
            aria-setsize={rows.length}
            aria-posinset={item.index + 1}
            style={{ height: item.size, transform: `translateY(${item.start}px)` }}
          >
            {children(rows[item.index] as T)}
          </div>
        ))}
      </div>
    </div>
  );
}

/** The same for a list that scrolls with the page. */
export function VirtualPage<T>({
  rows,
  rowKey,
  height,
  children,
  className = "",
}: {
  rows: readonly T[];
  rowKey: (row: T) => Key;
  height: (row: T) => number;
  children: (row: T, index: number) => ReactNode;
  className?: string;
}): ReactElement {
  const container = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  useLayoutEffect(() => {
    const measure = (): void => {
      if (container.current) setTop(container.current.getBoundingClientRect().top + window.scrollY);
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(document.body);
    return () => observer.disconnect();
  }, []);
  const list = useWindowVirtualizer({
    count: rows.length,
    estimateSize: (index) => height(rows[index] as T),
    getItemKey: (index) => rowKey(rows[index] as T),
    overscan: 6,
    scrollMargin: top,
  });
  // Heights depend on the rows, so measurements of earlier rows must not be reused.
  useLayoutEffect(() => list.measure(), [list, rows]);
  return (
    <div ref={container} className={`virtual-page ${className}`} style={{ height: list.getTotalSize() }}>
      {list.getVirtualItems().map((item) => (
        <div
          key={item.key}
          className="virtual-row"
          style={{ height: item.size, transform: `translateY(${item.start - top}px)` }}
        >
          {children(rows[item.index] as T, item.index)}
        </div>
      ))}
    </div>
  );
}
