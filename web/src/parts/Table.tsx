import type { Key, ReactElement, ReactNode } from "react";

export type Column<T> = {
  readonly id: string;
  readonly head: ReactNode;
  readonly cell: (row: T) => ReactNode;
  /** Numbers stand to the right. */
  readonly end?: boolean;
  /** Left out where there is no room. */
  readonly minor?: boolean;
};

/** A table that becomes a list of cards on a narrow page: each cell then says its head. */
export function Table<T>({
  name,
  columns,
  rows,
  rowKey,
  onOpen,
  chosen,
}: {
  name: string;
  columns: readonly Column<T>[];
  rows: readonly T[];
  rowKey: (row: T) => Key;
  /** A click anywhere on the row; the first cell should hold a link or a button that does the same. */
  onOpen?: (row: T) => void;
  chosen?: Key | null;
}): ReactElement {
  return (
    <div className="table-around">
      <table className={`table ${onOpen ? "opens" : ""}`}>
        <caption className="unseen">{name}</caption>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.id} scope="col" className={`${column.end ? "is-end" : ""} ${column.minor ? "is-minor" : ""}`}>
                {column.head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => {
            const key = rowKey(row);
            return (
              <tr
                key={key}
                aria-selected={chosen === undefined ? undefined : chosen === key}
                onClick={
                  onOpen &&
                  ((event) => {
                    if (!(event.target as Element).closest("a, button, input, label, select")) onOpen(row);
                  })
                }
              >
                {columns.map((column) => (
                  <td
                    key={column.id}
                    data-head={typeof column.head === "string" ? column.head : undefined}
                    className={`${column.end ? "is-end" : ""} ${column.minor ? "is-minor" : ""}`}
                  >
                    {column.cell(row)}
                  </td>
                ))}
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}
