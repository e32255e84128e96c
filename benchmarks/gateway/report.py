"""What was measured, as tables for people and as JSON for programs: the same numbers, the same ratios."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from textwrap import shorten
from typing import Any, assert_never

from benchmarks import table
from benchmarks.gateway.client import Operation
from benchmarks.gateway.contenders import FASTMCP_PROXY, FASTMCP_SHARED, FLOOR
from benchmarks.gateway.goals import Goal, goals_of
from benchmarks.gateway.measure import Failed, Measured, Plan, Result, Row, Window, described
from benchmarks.gateway.starting import Started
from benchmarks.gateway.summary import as_growth, as_matrices
from benchmarks.sample import ratio

REMARK_WIDTH = 200
LEGEND = (
    "CPU: user and system time of the gateway's own processes for one call or one whole list: the number to compare\n"
    "on a busy machine. of floor: that, divided by the floor's. c=1: with a single client. first list: from the start\n"
    "of the process to a complete tools/list. Every number is the median of its windows, but for min."
)


@dataclass(frozen=True, slots=True)
class Ratios:
    """One row's CPU per call beside the others of its cell; None where the other was not measured."""

    times_floor: float | None
    fastmcp_times_this: float | None
    shared_fastmcp_times_this: float | None


@dataclass(frozen=True, slots=True)
class Report:
    """All that one run measured; a part that was not asked for is empty."""

    results: Sequence[Result]
    growth: Sequence[Result]
    started: Started | None
    plan: Plan
    machine: str


def ratios_of(row: Measured, result: Result) -> Ratios:
    cpu = {other.key: other.cpu_per_call for other in result.rows if isinstance(other, Measured)}
    return Ratios(
        times_floor=ratio(row.cpu_per_call, cpu.get(FLOOR)),
        fastmcp_times_this=ratio(cpu.get(FASTMCP_PROXY), row.cpu_per_call),
        shared_fastmcp_times_this=ratio(cpu.get(FASTMCP_SHARED), row.cpu_per_call),
    )


def as_text(report: Report) -> str:
    """Every cell as a table of its own, then all cells side by side, then what was aimed at."""
    plan = report.plan
    parts = [f"{report.machine}; {plan.concurrency} clients, {plan.windows} windows of {plan.seconds:g} s, alternating"]
    parts += [_cell(result, plan) for result in report.results]
    parts.append(LEGEND)
    parts += as_matrices(report.results)
    if report.growth:
        parts.append(as_growth(report.growth))
    if report.started is not None:
        parts.append(_starting(report.started))
    if goals := goals_of(report.results, report.growth, report.started):
        rows = [_goal(goal) for goal in goals]
        parts.append("Goals\n" + table.render(("what", "goal", "measured", "where", "met"), rows))
    return "\n\n".join(parts)


def as_json(report: Report) -> dict[str, Any]:
    """The same with every window, times in the unit their name says."""
    return {
        "benchmark": "gateway",
        "machine": report.machine,
        "plan": asdict(report.plan),
        "cells": [_json_cell(result) for result in report.results],
        "growth": [_json_cell(result) for result in report.growth],
        "starting": None if report.started is None else asdict(report.started),
        "goals": [
            {**asdict(goal), "met": goal.met} for goal in goals_of(report.results, report.growth, report.started)
        ],
    }


def _cell(result: Result, plan: Plan) -> str:
    remarks = [f"others used {result.cores_used_by_others:.2f} cores meanwhile"]
    if result.ceiling_calls_per_second is not None:
        remarks.insert(0, f"without a gateway {result.ceiling_calls_per_second:,.0f} per second")
    rows = [line for row in result.rows for line in _lines(row, result)]
    return f"{described(result.cell)}  ({'; '.join(remarks)})\n{table.render(_headings(result, plan), rows)}"


def _headings(result: Result, plan: Plan) -> tuple[str, ...]:
    operation = result.cell.operation
    crowd = plan.clients(operation)
    alone = ("p50 ms c=1", "p99 c=1", f"p50 c={crowd}", f"p99 c={crowd}")
    if operation is Operation.CALL:
        return ("gateway", "CPU µs/call", "min", "of floor", "calls/s", *alone, "RSS MB", "first list s")
    return ("gateway", "CPU ms/list", "min", "of floor", "lists/s", *alone, "kB", "RSS MB", "first list s")


def _lines(row: Row, result: Result) -> list[tuple[str, ...]]:
    match row:
        case Failed():
            return [(row.title, f"not measured: {shorten(row.reason, REMARK_WIDTH)}")]
        case Measured():
            flawed = f"^ and {row.errors} errors, the first: {shorten(row.problem, REMARK_WIDTH)}"
            is_list = result.cell.operation is Operation.LIST
            unit, digits = (1e3, 2) if is_list else (1e6, 0)
            cells = (
                row.title,
                table.number(row.cpu_per_call * unit, digits),
                table.number(row.least_cpu_per_call * unit, digits),
                table.times(ratios_of(row, result).times_floor),
                table.number(row.calls_per_second),
                table.number(row.p50_alone * 1e3, 2),
                table.number(row.p99_alone * 1e3, 2),
                table.number(row.p50 * 1e3, 2),
                table.number(row.p99 * 1e3, 2),
                *((table.number(row.list_bytes / 1e3),) if is_list else ()),
                table.number(row.resident_bytes / 2**20),
                table.number(row.first_list_seconds, 2),
            )
            return [cells, ("", flawed)] if row.errors else [cells]
        case _:
            assert_never(row)


def _starting(started: Started) -> str:
    if started.problem:
        return f"Start of {started.servers} stdio servers: not measured: {shorten(started.problem, REMARK_WIDTH)}"
    return (
        f"Start of {started.servers} stdio servers; the slowest takes {started.slowest_pause:.1f} s to say a word, "
        f"all one after the other {started.sum_of_pauses:.1f} s:\n"
        f"the slowest alone {started.slowest_alone:.2f} s, all together {started.all_together:.2f} s "
        f"({table.times(ratio(started.all_together, started.slowest_alone))})"
    )


def _goal(goal: Goal) -> tuple[str, ...]:
    met = "yes" if goal.met else "NO"
    return (goal.what, f"{goal.most:g} {goal.unit}", f"{goal.measured:.2f} {goal.unit}", goal.where, met)


def _json_cell(result: Result) -> dict[str, Any]:
    return {
        **asdict(result.cell),
        "ceiling_calls_per_second": result.ceiling_calls_per_second,
        "cores_used_by_others": result.cores_used_by_others,
        "rows": [_json_row(row, result) for row in result.rows],
    }


def _json_row(row: Row, result: Result) -> dict[str, Any]:
    match row:
        case Failed():
            return {"gateway": row.key, "title": row.title, "failed": row.reason}
        case Measured():
            return {
                "gateway": row.key,
                "title": row.title,
                "cpu_us_per_call": row.cpu_per_call * 1e6,
                "least_cpu_us_per_call": row.least_cpu_per_call * 1e6,
                "calls_per_second": row.calls_per_second,
                "p50_ms": row.p50 * 1e3,
                "p99_ms": row.p99 * 1e3,
                "p50_ms_alone": row.p50_alone * 1e3,
                "p99_ms_alone": row.p99_alone * 1e3,
                "list_bytes": row.list_bytes,
                "rss_mb": row.resident_bytes / 2**20,
                "first_list_seconds": row.first_list_seconds,
                "errors": row.errors,
                **asdict(ratios_of(row, result)),
                "windows": [_json_window(window) for window in row.windows],
                "windows_alone": [_json_window(window) for window in row.alone],
            }
        case _:
            assert_never(row)


def _json_window(window: Window) -> dict[str, Any]:
    return {
        "calls": window.load.calls,
        "errors": window.load.errors,
        "seconds": window.load.seconds,
        "cpu_us_per_call": window.cpu_per_call * 1e6,
        "calls_per_second": window.calls_per_second,
        "p50_ms": window.load.p50 * 1e3,
        "p99_ms": window.load.p99 * 1e3,
    }
