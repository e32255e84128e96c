import { useWindowVirtualizer } from "@tanstack/react-virtual";
import { useLayoutEffect, useRef, useState, type Key, type ReactElement, type ReactNode } from "react";

export type Column<T> = {
  readonly id: string;
  readonly head: ReactNode;
  readonly cell: (row: T) => ReactNode;
  /** Numbers stand to the right. */
  readonly end?: boolean;
  /** Left out where there is no room. */
  readonly minor?: boolean;
};

type Told<T> = {
  name: string;
  columns: readonly Column<T>[];
  rows: readonly T[];
  rowKey: (row: T) => Key;
  /** A click anywhere on the row; the first cell should hold a link or a button that does the same. */
  onOpen?: (row: T) => void;
  chosen?: Key | null;
};

/** More rows than this are only there while they are seen. */
export const MOST_PLAIN = 100;
const TALL = 57;

/** A table that becomes a list of cards on a narrow page: each cell then says its head. */
export function Table<T>(told: Told<T>): ReactElement {
  const { name, columns, rows, onOpen } = told;
  const isLong = rows.length > MOST_PLAIN;
  return (
    <div className={`table-around ${isLong ? "is-long" : ""}`}>
      <table className={`table ${onOpen ? "opens" : ""}`} {...(isLong ? { "aria-rowcount": rows.length + 1 } : {})}>
        <caption className="unseen">{name}</caption>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.id} scope="col" className={classesOf(column)}>
                {column.head}
              </th>
            ))}
          </tr>
        </thead>
        {isLong ? (
          <SeenRows {...told} />
        ) : (
          <tbody>
            {rows.map((row) => (
              <Line key={told.rowKey(row)} row={row} of={told} />
            ))}
          </tbody>
        )}
      </table>
    </div>
  );
}

function classesOf<T>(column: Column<T>): string {
  return `${column.end ? "is-end" : ""} ${column.minor ? "is-minor" : ""}`;
}

/** Only the rows that are in sight, between two that take the place of the others. */
function SeenRows<T>(told: Told<T>): ReactElement {
  const { rows, columns, rowKey } = told;
  const body = useRef<HTMLTableSectionElement>(null);
  const [top, setTop] = useState(0);
  useLayoutEffect(() => {
    const measure = (): void => {
      if (body.current) setTop(body.current.getBoundingClientRect().top + window.scrollY);
    };
    measure();
    const watching = new ResizeObserver(measure);
    watching.observe(document.body);
    return () => watching.disconnect();
  }, []);
  const list = useWindowVirtualizer({
    count: rows.length,
    estimateSize: () => TALL,
    getItemKey: (at) => rowKey(rows[at] as T),
    overscan: 10,
    scrollMargin: top,
    // On a narrow page rows are cards, with room between them.
    measureElement: (row) => row.getBoundingClientRect().height + Number.parseFloat(getComputedStyle(row).marginBottom),
  });
  const seen = list.getVirtualItems();
  const before = (seen[0]?.start ?? top) - top;
  const after = list.getTotalSize() - ((seen.at(-1)?.end ?? top) - top);
  return (
    <tbody ref={body}>
      <Gap height={before} columns={columns.length} />
      {seen.map((item) => (
        <Line key={item.key} row={rows[item.index] as T} of={told} at={item.index} measure={list.measureElement} />
      ))}
      <Gap height={after} columns={columns.length} />
    </tbody>
  );
}

function Gap({ height, columns }: { height: number; columns: number }): ReactElement | null {
  if (height <= 0) return null;
  return (
    <tr className="table-gap" aria-hidden="true">
      <td colSpan={columns} style={{ height }} />
    </tr>
  );
}

function Line<T>({
  row,
  of: { columns, rowKey, onOpen, chosen },
  at,
  measure,
}: {
  row: T;
  of: Told<T>;
  at?: number;
  measure?: (row: HTMLTableRowElement | null) => void;
}): ReactElement {
  return (
    <tr
      {...(measure === undefined ? {} : { ref: measure })}
      {...(at === undefined ? {} : { "data-index": at, "aria-rowindex": at + 2 })}
      aria-selected={chosen === undefined ? undefined : chosen === rowKey(row)}
      onClick={
        onOpen &&
        ((event) => {
          if (!(event.target as Element).closest("a, button, input, label, select")) onOpen(row);
        })
      }
    >
      {columns.map((column) => (
        <td key={column.id} data-head={typeof column.head === "string" ? column.head : undefined} className={classesOf(column)}>
          {column.cell(row)}
        </td>
      ))}
    </tr>
  );
}
