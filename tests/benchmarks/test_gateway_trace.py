"""How many modules a warm request runs through: whoever reads one call must not open half the tree."""

from pathlib import Path

import anyio
import pytest
from benchmarks.gateway.client import Operation
from benchmarks.gateway.trace import Event, common_trace, trace_requests
from benchmarks.gateway.wire import Era

pytestmark = pytest.mark.anyio
DEADLINE = 240
MAX_MODULES = 24


@pytest.mark.parametrize("era", list(Era))
async def test_a_warm_call_over_http_runs_through_few_modules(era: Era, tmp_path: Path) -> None:
    with anyio.fail_after(DEADLINE):
        trace = await trace_requests(Operation.CALL, era, "http", tmp_path)
    assert {"surfaces.http.protocol", "core.calls.call", "gateway.caller", "store.audit"} <= set(trace.modules)
    assert len(trace.modules) <= MAX_MODULES, trace.modules


def test_a_trace_holds_what_ran_in_every_window_alone() -> None:
    first, timer = ("a", "f"), ("b", "tick")
    events = [Event(at, *what) for at, what in ((1, first), (2, timer), (5, first), (6, ("c", "g")), (9, first))]
    trace = common_trace(events, [(1, 3), (5, 7), (8, 9)])
    assert (trace.modules, trace.switches) == (("a",), 0)
    assert common_trace(events, [(1, 3)]).switches == 1
