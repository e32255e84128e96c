"""Calls of tools with pinned arguments: whatever a server says, its callers do not hear the pinned values."""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace

import pytest
from tests.core.boards import key, tool
from tests.support.doubles import Providers
from tests.support.house import call_of, declared, opened

from pegboard.core.argument import Argument, held
from pegboard.core.call import Admitted, Demanded, NeedsInput, Outcome, ProviderFailed, Returned, ToolFailed
from pegboard.core.echo import Echo
from pegboard.core.ids import ToolId, ToolsetId
from pegboard.core.override import Override
from pegboard.core.tool import Json, ToolSpec
from pegboard.core.view import View
from pegboard.gateway.discretion import discreetly
from pegboard.ports import Peer, Progress, Unresolved

pytestmark = pytest.mark.anyio

GITHUB = key("dev~github")
READ = ToolId(GITHUB, "read")
SECRET = "s3cret-of-the-operator"
SPEC = ToolSpec("read", input_schema={"properties": {"key": {"type": "string"}, "q": {}}})
TOOLS = {GITHUB: (replace(tool(GITHUB, "read"), spec=SPEC), tool(GITHUB, "write"))}
BOARD = replace(
    declared(GITHUB),
    overrides=(Override(ToolsetId("dev"), READ, arguments={"key": Argument(pin=held("${KEY}"))}, declared=True),),
)


def expand(text: str) -> str | Unresolved:
    return text.replace("${KEY}", SECRET)


@dataclass
class Listening:
    """A caller who remembers what was said to it."""

    heard: list[Json] = field(default_factory=list[Json])
    can: Mapping[str, Json] = field(default_factory=dict[str, Json])
    who: Hashable = "me"
    last: Peer | None = None

    def note(self, method: str, params: Mapping[str, Json]) -> None:
        self.heard.append(dict(params))

    async def ask(
        self, method: str, params: Mapping[str, Json], last: Callable[[], Peer] | None = None
    ) -> Mapping[str, Json]:
        self.heard.append(dict(params))
        self.last = None if last is None else last()
        return {"action": SECRET}


@pytest.mark.behaviour("overrides.pin_is_not_echoed")
@pytest.mark.parametrize(
    ("said", "passed"),
    [
        (Returned(b'{"content":[{"text":"%b"}]}'), Returned(b'{"content":[{"text":"***"}]}')),
        (ToolFailed(b'{"isError":true,"t":"bad %b"}'), ToolFailed(b'{"isError":true,"t":"bad ***"}')),
        (NeedsInput(b'{"m":"%b?"}'), NeedsInput(b'{"m":"***?"}')),
        (Demanded(b'{"code":1,"message":"%b"}'), Demanded(b'{"code":1,"message":"***"}')),
        (ProviderFailed("it said %b", may_have_run=True), ProviderFailed("it said ***", may_have_run=True)),
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
        assert record.ended == passed
        assert [dict(made.call.arguments) for made in house.provider(GITHUB).calls] == [{"q": 1, "key": SECRET}]
        assert SECRET not in repr(house.provider(GITHUB).calls[0].echo)


def _filled(said: Outcome) -> Outcome:
    match said:
        case Returned(body) | ToolFailed(body) | NeedsInput(body):
            return replace(said, body=body % SECRET.encode())
        case Demanded(error):
            return Demanded(error % SECRET.encode())
        case ProviderFailed(why):
            return replace(said, why=why.replace("%b", SECRET))
        case _:
            return said


@pytest.mark.behaviour("overrides.pin_is_not_echoed")
async def test_progress_of_a_call_does_not_tell_it_either() -> None:
    told: list[tuple[float, float | None, str | None]] = []

    async def reports(admitted: Admitted, progress: Progress | None) -> Outcome:
        assert progress is not None
        progress(1, 2, f"with {SECRET}")
        progress(2, 2, None)
        return Returned(b"{}")

    async with opened(BOARD, Providers(TOOLS), expand=expand) as house:
        house.provider(GITHUB).answers["read"] = reports
        await house.gateway.caller.call(call_of("read"), View(), lambda *said: told.append(said))
    assert told == [(1, 2, "with ***"), (2, 2, None)]


@pytest.mark.behaviour("overrides.pin_is_not_echoed")
async def test_nor_do_log_messages_and_questions_and_the_answer_reaches_the_server_as_it_is() -> None:
    answers: list[Mapping[str, Json]] = []

    async with opened(BOARD, Providers(TOOLS), expand=expand) as house:
        provider = house.provider(GITHUB)

        async def call(admitted: Admitted, progress: Progress | None = None, peer: Peer | None = None) -> Outcome:
            assert peer is not None
            peer.note("notifications/message", {"data": [f"a {SECRET}"], "level": "info"})
            answers.append(await peer.ask("elicitation/create", {"message": f"use {SECRET}?"}, lambda: peer))
            return Returned(b"{}")

        provider.call = call  # type: ignore[method-assign]  # the peer as a server's own words reach it
        listening = Listening()
        admitted = Admitted(call_of("read"), TOOLS[GITHUB][0])
        assert await discreetly(provider, admitted, None, listening, Echo((SECRET,))) == Returned(b"{}")
    assert listening.heard == [{"data": ["a ***"], "level": "info"}, {"message": "use ***?"}]
    assert listening.last is listening
    assert answers == [{"action": SECRET}]


async def test_a_tool_without_pins_is_called_as_ever() -> None:
    async with opened(BOARD, Providers(TOOLS), expand=expand) as house:
        answer = house.provider(GITHUB).answers["write"] = Returned(b'{"content":[{"text":"%b"}]}' % SECRET.encode())
        assert await house.gateway.caller.call(call_of("write"), View()) is answer
