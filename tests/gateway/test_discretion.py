"""Calls of tools with pinned arguments: whatever a server says, its callers do not hear the pinned values."""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace

import pytest
from tests.core.boards import key, tool
from tests.support.doubles import Providers
from tests.support.house import call_of, declared, opened

from pegboard.core.calls.call import (
    AdmittedCall,
    NeedsInput,
    Outcome,
    ProtocolErrorReply,
    ProviderFailure,
    ToolFailure,
    ToolSuccess,
)
from pegboard.core.json.values import Json
from pegboard.core.model.ids import ToolId, ToolsetId
from pegboard.core.model.selection import View
from pegboard.core.model.tool import ToolSpec
from pegboard.core.overrides.model import ArgumentOverride, Override, freeze_json
from pegboard.core.overrides.schema import PinnedValueMask
from pegboard.gateway.argument_values import call_masked
from pegboard.ports.providers import ClientPeer, Progress, UnresolvedReference

pytestmark = pytest.mark.anyio

GITHUB = key("dev~github")
READ = ToolId(GITHUB, "read")
SECRET = "s3cret-of-the-operator"
SPEC = ToolSpec("read", input_schema={"properties": {"key": {"type": "string"}, "q": {}}})
TOOLS = {GITHUB: (replace(tool(GITHUB, "read"), spec=SPEC), tool(GITHUB, "write"))}
BOARD = replace(
    declared(GITHUB),
    overrides=(
        Override(
            ToolsetId("dev"), READ, arguments={"key": ArgumentOverride(pin=freeze_json("${KEY}"))}, is_declared=True
        ),
    ),
)


def expand(text: str) -> str | UnresolvedReference:
    return text.replace("${KEY}", SECRET)


@dataclass
class Listening:
    """A caller who remembers what was said to it."""

    heard: list[Json] = field(default_factory=list[Json])
    capabilities: Mapping[str, Json] = field(default_factory=dict[str, Json])
    connection_key: Hashable = "me"
    last: ClientPeer | None = None

    def notify(self, method: str, params: Mapping[str, Json]) -> None:
        self.heard.append(dict(params))

    async def request(
        self, method: str, params: Mapping[str, Json], last: Callable[[], ClientPeer] | None = None
    ) -> Mapping[str, Json]:
        self.heard.append(dict(params))
        self.last = None if last is None else last()
        return {"action": SECRET}


@pytest.mark.behaviour("overrides.pin_is_not_echoed")
@pytest.mark.parametrize(
    ("said", "passed"),
    [
        (ToolSuccess(b'{"content":[{"text":"%b"}]}'), ToolSuccess(b'{"content":[{"text":"***"}]}')),
        (ToolFailure(b'{"isError":true,"t":"bad %b"}'), ToolFailure(b'{"isError":true,"t":"bad ***"}')),
        (NeedsInput(b'{"m":"%b?"}'), NeedsInput(b'{"m":"***?"}')),
        (ProtocolErrorReply(b'{"code":1,"message":"%b"}'), ProtocolErrorReply(b'{"code":1,"message":"***"}')),
        (ProviderFailure("it said %b", may_have_run=True), ProviderFailure("it said ***", may_have_run=True)),
    ],
    ids=lambda outcome: type(outcome).__name__,
)
async def test_a_pinned_value_that_a_server_repeats_is_neither_passed_on_nor_recorded(
    said: Outcome, passed: Outcome
) -> None:
    async with opened(BOARD, Providers(TOOLS), expand=expand) as house:
        house.provider(GITHUB).answers["read"] = _filled(said)
        assert await house.gateway.caller.call(call_of("read", {"q": 1}), View()) == passed
        (record,) = house.audit.records
        assert record.outcome == passed
        assert [dict(made.call.arguments) for made in house.provider(GITHUB).calls] == [{"q": 1, "key": SECRET}]
        assert SECRET not in repr(house.provider(GITHUB).calls[0].pin_mask)


def _filled(said: Outcome) -> Outcome:
    match said:
        case ToolSuccess(body) | ToolFailure(body) | NeedsInput(body):
            return replace(said, body=body % SECRET.encode())
        case ProtocolErrorReply(error):
            return ProtocolErrorReply(error % SECRET.encode())
        case ProviderFailure(why):
            return replace(said, why=why.replace("%b", SECRET))
        case _:
            return said


@pytest.mark.behaviour("overrides.pin_is_not_echoed")
async def test_progress_of_a_call_does_not_tell_it_either() -> None:
    told: list[tuple[float, float | None, str | None]] = []

    async def reports(admitted: AdmittedCall, progress: Progress | None) -> Outcome:
        assert progress is not None
        progress(1, 2, f"with {SECRET}")
        progress(2, 2, None)
        return ToolSuccess(b"{}")

    async with opened(BOARD, Providers(TOOLS), expand=expand) as house:
        house.provider(GITHUB).answers["read"] = reports
        await house.gateway.caller.call(call_of("read"), View(), lambda *said: told.append(said))
    assert told == [(1, 2, "with ***"), (2, 2, None)]


@pytest.mark.behaviour("overrides.pin_is_not_echoed")
async def test_nor_do_log_messages_and_questions_and_the_answer_reaches_the_server_as_it_is() -> None:
    answers: list[Mapping[str, Json]] = []

    async with opened(BOARD, Providers(TOOLS), expand=expand) as house:
        provider = house.provider(GITHUB)

        async def call(
            admitted: AdmittedCall, progress: Progress | None = None, peer: ClientPeer | None = None
        ) -> Outcome:
            assert peer is not None
            peer.notify("notifications/message", {"data": [f"a {SECRET}"], "level": "info"})
            answers.append(await peer.request("elicitation/create", {"message": f"use {SECRET}?"}, lambda: peer))
            return ToolSuccess(b"{}")

        provider.call = call  # type: ignore[method-assign]  # the peer as a server's own words reach it
        listening = Listening()
        admitted = AdmittedCall(call_of("read"), TOOLS[GITHUB][0])
        assert await call_masked(provider, admitted, None, listening, PinnedValueMask((SECRET,))) == ToolSuccess(b"{}")
    assert listening.heard == [{"data": ["a ***"], "level": "info"}, {"message": "use ***?"}]
    assert listening.last is listening
    assert answers == [{"action": SECRET}]


async def test_a_tool_without_pins_is_called_as_ever() -> None:
    async with opened(BOARD, Providers(TOOLS), expand=expand) as house:
        answer = house.provider(GITHUB).answers["write"] = ToolSuccess(b'{"content":[{"text":"%b"}]}' % SECRET.encode())
        assert await house.gateway.caller.call(call_of("write"), View()) is answer
