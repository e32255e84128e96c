import { useWindowVirtualizer } from "@tanstack/react-virtual";
import { useLayoutEffect, useRef, useState, type Key, type ReactElement, type ReactNode } from "react";

export type Column<T> = {
  readonly id: string;
  readonly head: ReactNode;
  readonly cell: (row: T) => ReactNode;
  /** Right-aligned, for numbers. */
  readonly end?: boolean;
  /** Omitted on narrow screens. */
  readonly minor?: boolean;
};

type TableProps<T> = {
  name: string;
  columns: readonly Column<T>[];
  rows: readonly T[];
  rowKey: (row: T) => Key;
  /** Called for a click anywhere in the row. The first cell should hold a link or button that does the same. */
  onOpen?: (row: T) => void;
  selected?: Key | null;
};

/** Longer tables render only their visible rows. */
export const MAX_PLAIN_ROWS = 100;
const ROW_HEIGHT_PX = 57;

/** A table that becomes a list of cards on narrow screens, where each cell shows its column title. */
export function Table<T>(props: TableProps<T>): ReactElement {
  const { name, columns, rows, onOpen } = props;
  const isLong = rows.length > MAX_PLAIN_ROWS;
  return (
    <div className={`table-container ${isLong ? "is-long" : ""}`}>
      <table className={`table ${onOpen ? "opens" : ""}`} {...(isLong ? { "aria-rowcount": rows.length + 1 } : {})}>
        <caption className="visually-hidden">{name}</caption>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.id} scope="col" className={columnClasses(column)}>
                {column.head}
              </th>
            ))}
          </tr>
        </thead>
        {isLong ? (
          <VirtualRows {...props} />
        ) : (
          <tbody>
            {rows.map((row) => (
              <TableRow key={props.rowKey(row)} row={row} props={props} />
            ))}
          </tbody>
        )}
      </table>
    </div>
  );
}

function columnClasses<T>(column: Column<T>): string {
  return `${column.end ? "is-end" : ""} ${column.minor ? "is-minor" : ""}`;
}

/** The visible rows, between two rows that take the space of the others. */
function VirtualRows<T>(props: TableProps<T>): ReactElement {
  const { rows, columns, rowKey } = props;
  const body = useRef<HTMLTableSectionElement>(null);
  const [top, setTop] = useState(0);
  useLayoutEffect(() => {
    const measure = (): void => {
      if (body.current) setTop(body.current.getBoundingClientRect().top + window.scrollY);
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(document.body);
    return () => observer.disconnect();
  }, []);
  const list = useWindowVirtualizer({
    count: rows.length,
    estimateSize: () => ROW_HEIGHT_PX,
    getItemKey: (index) => rowKey(rows[index] as T),
    overscan: 10,
    scrollMargin: top,
    // On narrow screens rows are cards with a margin.
    measureElement: (row) => row.getBoundingClientRect().height + Number.parseFloat(getComputedStyle(row).marginBottom),
  });
  const visible = list.getVirtualItems();
  const before = (visible[0]?.start ?? top) - top;
  const after = list.getTotalSize() - ((visible.at(-1)?.end ?? top) - top);
  return (
    <tbody ref={body}>
      <GapRow height={before} columns={columns.length} />
      {visible.map((item) => (
        <TableRow key={item.key} row={rows[item.index] as T} props={props} index={item.index} measure={list.measureElement} />
      ))}
      <GapRow height={after} columns={columns.length} />
    </tbody>
  );
}

function GapRow({ height, columns }: { height: number; columns: number }): ReactElement | null {
  if (height <= 0) return null;
  return (
    <tr className="table-spacer" aria-hidden="true">
      <td colSpan={columns} style={{ height }} />
    </tr>
  );
}

function TableRow<T>({
  row,
  props: { columns, rowKey, onOpen, selected },
  index,
  measure,
}: {
  row: T;
  props: TableProps<T>;
  index?: number;
  measure?: (row: HTMLTableRowElement | null) => void;
}): ReactElement {
  return (
    <tr
      {...(measure === undefined ? {} : { ref: measure })}
      {...(index === undefined ? {} : { "data-index": index, "aria-rowindex": index + 2 })}
      aria-selected={selected === undefined ? undefined : selected === rowKey(row)}
      onClick={
        onOpen &&
        ((event) => {
          if (!(event.target as Element).closest("a, button, input, label, select")) onOpen(row);
        })
      }
    >
      {columns.map((column) => (
        <td key={column.id} data-head={typeof column.head === "string" ? column.head : undefined} className={columnClasses(column)}>
          {column.cell(row)}
        </td>
      ))}
    </tr>
  );
}
