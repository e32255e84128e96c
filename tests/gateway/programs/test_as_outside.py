"""Whatever people decided, a program sees and gets just what its caller would by calling each tool itself."""

from collections.abc import Mapping
from dataclasses import dataclass

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.gateway.programs.programs import FILES, TOOLS, prepared
from tests.support.doubles import Providers
from tests.support.house import House, call_of, declared, opened

from pegboard.core.commands.commands import SetOverride, SetSwitch
from pegboard.core.decision.resolve import OpenTool
from pegboard.core.json.values import Json
from pegboard.core.model.ids import ToolId
from pegboard.core.model.selection import Selection, View
from pegboard.core.overrides.model import Override
from pegboard.gateway.programs.calls import CallOrigin, CallRoutes, NestedCalls, ProgramFunctions, to_program_value
from pegboard.gateway.programs.clock import RunClock
from pegboard.ports.sandbox import CallFailure, HostReply, SandboxFunction, SandboxLimits

NAMES = ("add", "read", "delete", "fail")
ARGUMENTS = st.sampled_from(
    ({}, {"a": 1, "b": 2}, {"a": 1}, {"a": "1", "b": 2}, {"path": "x"}, {"path": 7}, {"path": "x", "other": None})
)


@dataclass(frozen=True)
class Board:
    off: frozenset[str]
    asks: frozenset[str]
    narrowed: frozenset[str]
    calls: tuple[tuple[str, Mapping[str, Json]], ...]


SOME = st.frozensets(st.sampled_from(NAMES), max_size=2)
BOARDS = st.builds(
    Board, SOME, SOME, SOME, st.lists(st.tuples(st.sampled_from(NAMES), ARGUMENTS), min_size=1, max_size=6).map(tuple)
)


@pytest.mark.behaviour("programs.as_outside", "programs.withheld", "law.withheld_in_search_and_code")
@settings(max_examples=60, deadline=None)
@given(BOARDS)
def test_a_program_gets_what_its_caller_would_get(board: Board) -> None:
    anyio.run(_same, board)


async def _same(board: Board) -> None:
    providers = Providers({FILES: TOOLS})
    providers.prepare = prepared
    async with opened(declared(FILES), providers) as house:
        for name in board.off:
            await house.does(SetSwitch(ToolId(FILES, name), enabled=False))
        for name in board.asks:
            await house.does(SetOverride(Override(FILES.toolset, ToolId(FILES, name), requires_confirmation=True)))
        view = View(narrowings=(Selection(disabled=tuple(str(ToolId(FILES, name)) for name in board.narrowed)),))
        resolution = house.board.resolution(view)
        code = " ".join(f"files.{name}" for name in NAMES)
        mentioned = await ProgramFunctions().bind(code, resolution, house.board.policy)
        seen = {id for id, verdict in resolution.verdicts.items() if isinstance(verdict, OpenTool) and id.name in NAMES}
        assert set(mentioned.tools.values()) == seen
        assert [f"files.{each.name}" for each in mentioned.program.functions] == list(mentioned.tools)
        for name, arguments in board.calls:
            inside = await _inside(house, view, mentioned.tools, name, arguments)
            outside = await _outside(house, view, name, arguments)
            if f"files.{name}" in mentioned.tools:
                assert inside == outside
            else:
                assert inside == CallFailure("LookupError", f"There is no function files.{name} here.")
                assert isinstance(outside, CallFailure)
        reached = [call.call.arguments for call in house.provider(FILES).calls]
        assert len(reached) % 2 == 0, "each of the two reaches the server, or neither does"
        assert reached[::2] == reached[1::2]


async def _inside(
    house: House, view: View, tools: Mapping[str, ToolId], name: str, arguments: Mapping[str, Json]
) -> HostReply:
    gateway = house.gateway
    roads = CallRoutes(gateway.caller.call, gateway.board, gateway.caller.confirmation, gateway.clock)
    run = call_of("python_execution", {}, id="run", client="cli 1")
    host = NestedCalls(roads, CallOrigin(run.id, run, view), tools, SandboxLimits(), RunClock(1.0))
    return await host.call(1, SandboxFunction("files", name), arguments)


async def _outside(house: House, view: View, name: str, arguments: Mapping[str, Json]) -> HostReply:
    ended = await house.gateway.caller.call(call_of(name, arguments, client="cli 1"), view)
    return await to_program_value(ended, f"files.{name}", described=name == "add", beside=anyio.CapacityLimiter(1))
