"""What was measured, as a table for people and as JSON for programs: the same numbers, the same ratios."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from textwrap import shorten
from typing import Any, assert_never

from benchmarks import table
from benchmarks.gateway.contenders import FASTMCP_PROXY, FASTMCP_SHARED, FLOOR
from benchmarks.gateway.measure import Failed, Measured, Plan, Result, Row, described
from benchmarks.sample import ratio

REMARK_WIDTH = 200
HEADINGS = (
    "gateway",
    "CPU µs/call",
    "of floor",
    "FastMCP/this",
    "shared/this",
    "calls/s",
    "p50 ms",
    "p99 ms",
    "RSS MB",
    "first list s",
)
LEGEND = (
    "CPU µs/call: user and system time of the gateway's own processes; the number to compare on a busy machine.\n"
    "of floor: that, divided by the floor's. FastMCP/this, shared/this: the CPU of create_proxy, or of FastMCP with\n"
    "one shared client, divided by this row's. first list: from starting the process to a complete tools/list.\n"
    "Every number is the median of its windows."
)


@dataclass(frozen=True, slots=True)
class Ratios:
    """One row's CPU per call beside the others of its cell; None where the other was not measured."""

    times_floor: float | None
    fastmcp_times_this: float | None
    shared_fastmcp_times_this: float | None


def ratios_of(row: Measured, result: Result) -> Ratios:
    cpu = {other.key: other.cpu_per_call for other in result.rows if isinstance(other, Measured)}
    return Ratios(
        times_floor=ratio(row.cpu_per_call, cpu.get(FLOOR)),
        fastmcp_times_this=ratio(cpu.get(FASTMCP_PROXY), row.cpu_per_call),
        shared_fastmcp_times_this=ratio(cpu.get(FASTMCP_SHARED), row.cpu_per_call),
    )


def as_text(results: Sequence[Result], plan: Plan, machine: str) -> str:
    """Every cell as a table of its own."""
    parts = [f"{machine}; {plan.concurrency} clients, {plan.windows} windows of {plan.seconds:g} s, alternating"]
    for result in results:
        remarks = [f"others used {result.cores_used_by_others:.2f} cores meanwhile"]
        if result.ceiling_calls_per_second is not None:
            remarks.insert(0, f"without a gateway {result.ceiling_calls_per_second:,.0f} calls/s")
        rows = [line for row in result.rows for line in _lines(row, result)]
        parts.append(f"{described(result.cell)}  ({'; '.join(remarks)})\n{table.render(HEADINGS, rows)}")
    return "\n\n".join([*parts, LEGEND])


def as_json(results: Sequence[Result], plan: Plan, machine: str) -> dict[str, Any]:
    """The same with every window, times in the unit their name says."""
    return {
        "benchmark": "gateway",
        "machine": machine,
        "plan": asdict(plan),
        "cells": [
            {
                **asdict(result.cell),
                "ceiling_calls_per_second": result.ceiling_calls_per_second,
                "cores_used_by_others": result.cores_used_by_others,
                "rows": [_json_row(row, result) for row in result.rows],
            }
            for result in results
        ],
    }


def _lines(row: Row, result: Result) -> list[tuple[str, ...]]:
    match row:
        case Failed():
            return [(row.title, f"not measured: {shorten(row.reason, REMARK_WIDTH)}")]
        case Measured():
            flawed = f"^ and {row.errors} errors, the first: {shorten(row.problem, REMARK_WIDTH)}"
            ratios = ratios_of(row, result)
            cells = (
                row.title,
                table.number(row.cpu_per_call * 1e6),
                table.times(ratios.times_floor),
                table.times(ratios.fastmcp_times_this),
                table.times(ratios.shared_fastmcp_times_this),
                table.number(row.calls_per_second),
                table.number(row.p50 * 1e3, 2),
                table.number(row.p99 * 1e3, 2),
                table.number(row.resident_bytes / 2**20),
                table.number(row.first_list_seconds, 2),
            )
            return [cells, ("", flawed)] if row.errors else [cells]
        case _:
            assert_never(row)


def _json_row(row: Row, result: Result) -> dict[str, Any]:
    match row:
        case Failed():
            return {"gateway": row.key, "title": row.title, "failed": row.reason}
        case Measured():
            return {
                "gateway": row.key,
                "title": row.title,
                "cpu_us_per_call": row.cpu_per_call * 1e6,
                "calls_per_second": row.calls_per_second,
                "p50_ms": row.p50 * 1e3,
                "p99_ms": row.p99 * 1e3,
                "rss_mb": row.resident_bytes / 2**20,
                "first_list_seconds": row.first_list_seconds,
                "errors": row.errors,
                **asdict(ratios_of(row, result)),
                "windows": [
                    {
                        "calls": window.load.calls,
                        "errors": window.load.errors,
                        "seconds": window.load.seconds,
                        "cpu_us_per_call": window.cpu_per_call * 1e6,
                        "calls_per_second": window.calls_per_second,
                        "p50_ms": window.load.p50 * 1e3,
                        "p99_ms": window.load.p99 * 1e3,
                    }
                    for window in row.windows
                ],
            }
        case _:
            assert_never(row)
