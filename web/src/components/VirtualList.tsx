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
  const box = useRef<HTMLDivElement>(null);
  const list = useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: (at) => height(rows[at] as T),
    getItemKey: (at) => rowKey(rows[at] as T),
    overscan: 8,
  });
  return (
    <div className="virtual" ref={box} style={{ height: boxHeight }} tabIndex={0} role="list" aria-label={name}>
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
  children: (row: T, at: number) => ReactNode;
  className?: string;
}): ReactElement {
  const box = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  useLayoutEffect(() => {
    const measure = (): void => {
      if (box.current) setTop(box.current.getBoundingClientRect().top + window.scrollY);
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(document.body);
    return () => observer.disconnect();
  }, []);
  const list = useWindowVirtualizer({
    count: rows.length,
    estimateSize: (at) => height(rows[at] as T),
    getItemKey: (at) => rowKey(rows[at] as T),
    overscan: 6,
    scrollMargin: top,
  });
  // Heights depend on the rows, so measurements of earlier rows must not be reused.
  useLayoutEffect(() => list.measure(), [list, rows]);
  return (
    <div ref={box} className={`virtual-page ${className}`} style={{ height: list.getTotalSize() }}>
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
