"""All cells side by side: one matrix for each operation and upstream, and one for the growth with the tools."""

from collections.abc import Sequence

from benchmarks import table
from benchmarks.gateway.client import Operation
from benchmarks.gateway.contenders import FLOOR
from benchmarks.gateway.measure import Measured, Result
from benchmarks.sample import ratio


def as_matrices(results: Sequence[Result]) -> list[str]:
    """A row for each gateway, a column for each era and number of tools: its CPU, and how many times the floor's."""
    groups: dict[tuple[Operation, str], list[Result]] = {}
    for result in results:
        groups.setdefault((result.cell.operation, result.cell.transport), []).append(result)
    return [_matrix(operation, transport, group) for (operation, transport), group in groups.items() if len(group) > 1]


def as_growth(results: Sequence[Result]) -> str:
    """A row for each number of tools, compared with the first."""
    headings = ["one upstream each, all up at once"]
    columns: list[list[str]] = []
    for result in results:
        unit = "µs/call" if result.cell.operation is Operation.CALL else "ms/list"
        headings += [f"CPU {unit} {result.cell.era}", "of the first"]
        first = _cpu(result, result.rows[0].key)
        column = [_cpu(result, row.key) for row in result.rows]
        columns.append([_amount(cpu, result.cell.operation) for cpu in column])
        columns.append([table.times(ratio(cpu, first)) for cpu in column])
    titles = [row.title for row in results[0].rows] if results else []
    rows = [(title, *(column[number] for column in columns)) for number, title in enumerate(titles)]
    return f"Pegboard as the tools grow\n{table.render(headings, rows)}"


def _matrix(operation: Operation, transport: str, results: Sequence[Result]) -> str:
    unit = "µs per call" if operation is Operation.CALL else "ms per list"
    upstream = "HTTP" if transport == "http" else transport
    keys = {row.key: row.title for result in results for row in result.rows}
    headings = ["gateway", *(f"{result.cell.tools:,} tools {result.cell.era}" for result in results)]
    rows = [(title, *(_beside_floor(key, result) for result in results)) for key, title in keys.items()]
    return f"CPU of {operation}, {upstream} upstream: {unit} (times the floor)\n{table.render(headings, rows)}"


def _beside_floor(key: str, result: Result) -> str:
    cpu = _cpu(result, key)
    if cpu is None:
        return table.ABSENT
    return f"{_amount(cpu, result.cell.operation)} ({table.times(ratio(cpu, _cpu(result, FLOOR)))})"


def _amount(cpu: float | None, operation: Operation) -> str:
    if cpu is None:
        return table.ABSENT
    return table.number(cpu * 1e6) if operation is Operation.CALL else table.number(cpu * 1e3, 2)


def _cpu(result: Result, key: str) -> float | None:
    return next((row.cpu_per_call for row in result.rows if isinstance(row, Measured) and row.key == key), None)
