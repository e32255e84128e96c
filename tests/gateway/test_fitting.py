"""Values that overrides put in: one that cannot be used closes its tool, on every surface and in the same words."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.core.boards import key, tool
from tests.support.doubles import Providers
from tests.support.house import House, call_of, declared, opened

from pegboard.config.references import expander
from pegboard.core.calls.call import LockedToolRefusal, ToolSuccess, refusal_text
from pegboard.core.commands.commands import EditOverride
from pegboard.core.decision.resolve import LockedTool
from pegboard.core.decision.status import explain_reason, remedy
from pegboard.core.explain.explain import explain
from pegboard.core.json.values import Json, JsonObject
from pegboard.core.model.ids import ToolId, ToolsetId
from pegboard.core.model.patterns import Pattern
from pegboard.core.model.selection import View
from pegboard.core.model.server import DeclaredAt
from pegboard.core.model.text import Audience
from pegboard.core.model.tool import Tool, ToolSpec
from pegboard.core.overrides.model import ArgumentOverride, Override, OverrideEdit, freeze_json
from pegboard.core.policy.policy import DeclaredSettings
from pegboard.core.presentations.search import tool_counts
from pegboard.gateway.doctor import all_misfits

pytestmark = pytest.mark.anyio

DEV, GITHUB = ToolsetId("dev"), key("dev~github")
READ = ToolId(GITHUB, "read")
SCHEMA: JsonObject = {"properties": {"path": {"type": "string"}, "limit": {"type": "integer"}}}
PLACE = DeclaredAt("/etc/board/pegboard.yaml", 12)


def shelf(schema: JsonObject = SCHEMA) -> tuple[Tool, ...]:
    return (replace(tool(GITHUB, "read"), spec=ToolSpec("read", input_schema=schema)), tool(GITHUB, "write"))


def saying(argument: ArgumentOverride, *, by_file: bool = False, target: ToolId | Pattern = READ) -> Override:
    origins = {"arguments.path": PLACE} if by_file else {}
    return Override(DEV, target, arguments={"path": argument}, is_declared=by_file, origins=origins)


def board(*rows: Override) -> DeclaredSettings:
    return replace(declared(GITHUB), overrides=rows)


def pin(value: Json) -> ArgumentOverride:
    return ArgumentOverride(pin=freeze_json(value))


async def said_everywhere(house: House) -> tuple[str, str, str]:
    """The status, sentence and remedy, the same in the verdict, its explanation, the counts and the call."""
    verdict = house.board.resolution(View()).verdicts[READ]
    assert isinstance(verdict, LockedTool)
    told = verdict.status.value, explain_reason(verdict.reason), remedy(verdict.reason, Audience.OPERATOR)
    trail = explain(house.board.catalogue, house.board.policy, View(), READ)
    assert trail is not None
    assert [step.answer for step in trail.steps if not step.passes] == [f"{told[0]}: {told[1]} {told[2]}"]
    assert tool_counts(house.board.resolution(View()))[GITHUB] == {"callable": 1, told[0]: 1}
    refused = await house.gateway.caller.call(call_of("read"), View())
    assert isinstance(refused, LockedToolRefusal)
    assert refusal_text(refused, audience=Audience.OPERATOR) == f"{told[0]}: {told[1]} {told[2]}"
    return told


CLOSED = f"{READ} is closed: an override of its arguments cannot be applied to it."


@pytest.mark.behaviour("overrides.unfit_value_is_closed")
@pytest.mark.parametrize(
    "argument", [pin(5), pin("${NOPE}"), pin("${file:nope}"), ArgumentOverride(default=freeze_json(5))]
)
async def test_a_value_in_the_file_that_cannot_be_used_closes_the_tool_by_the_same_words_everywhere(
    argument: ArgumentOverride, tmp_path: Path
) -> None:
    rows = board(saying(argument, by_file=True))
    async with opened(rows, Providers({GITHUB: shelf()}), expand=expander({}, tmp_path)) as house:
        assert await said_everywhere(house) == (
            "disabled_by_config",
            CLOSED,
            "This is operator policy: only an edit of pegboard.yaml corrects the override at pegboard.yaml:12.",
        )


@pytest.mark.behaviour("overrides.unfit_value_is_closed")
@pytest.mark.parametrize("target", [READ, Pattern("*", "re*")])
async def test_a_persons_value_that_cannot_be_used_closes_the_tool_until_it_is_corrected(
    target: ToolId | Pattern,
) -> None:
    async with opened(declared(GITHUB), Providers({GITHUB: shelf()})) as house:
        assert house.status(READ) == "open"
        await house.does(EditOverride(OverrideEdit(saying(pin(5), target=target))))
        assert await said_everywhere(house) == (
            "disabled_by_user",
            CLOSED,
            f"Correct the override: pegboard overrides show {READ}",
        )
        await house.does(EditOverride(OverrideEdit(saying(pin("/srv"), target=target))))
        assert house.status(READ) == "open"


@pytest.mark.behaviour("overrides.unfit_value_is_closed")
async def test_a_pin_in_the_file_that_fits_is_not_blamed_for_a_persons_that_does_not() -> None:
    rows = board(saying(pin("/srv"), by_file=True))
    async with opened(rows, Providers({GITHUB: shelf()})) as house:
        await house.does(EditOverride(OverrideEdit(Override(DEV, READ, arguments={"limit": pin("many")}))))
        assert house.status(READ) == "disabled_by_user"


@pytest.mark.behaviour("overrides.unfit_value_is_closed")
async def test_a_schema_that_stops_fitting_a_pin_closes_the_tool_and_one_that_fits_again_opens_it() -> None:
    async with opened(board(saying(pin("/srv"))), Providers({GITHUB: shelf()})) as house:
        assert house.status(READ) == "open"
        house.provider(GITHUB).lists(*shelf({"properties": {"path": {"type": "integer"}}}))
        await house.until(lambda: house.status(READ) == "disabled_by_user")
        house.provider(GITHUB).lists(*shelf())
        await house.until(lambda: house.status(READ) == "open")


@pytest.mark.behaviour("overrides.unfit_value_is_closed")
async def test_a_value_that_a_tool_takes_nowhere_by_name_must_fit_what_it_takes_beside() -> None:
    schema: JsonObject = {"properties": {}, "additionalProperties": {"type": "integer"}}
    rows = board(saying(pin("/srv"), target=Pattern("*", "*")))
    async with opened(rows, Providers({GITHUB: shelf(schema)})) as house:
        assert house.statuses() == {str(READ): "disabled_by_user", str(ToolId(GITHUB, "write")): "open"}


@pytest.mark.behaviour("overrides.unfit_value_is_closed", "overrides.pin_by_reference")
async def test_a_reference_is_looked_at_again_at_a_call_and_the_verdict_follows(tmp_path: Path) -> None:
    secret = tmp_path / "key"
    secret.write_text("/srv", "utf-8")
    rows = board(saying(pin("${file:key}"), by_file=True))
    async with opened(rows, Providers({GITHUB: shelf()}), expand=expander({}, tmp_path)) as house:
        assert isinstance(await house.gateway.caller.call(call_of("read"), View()), ToolSuccess)
        secret.unlink()
        assert house.status(READ) == "open"
        assert isinstance(await house.gateway.caller.call(call_of("read"), View()), LockedToolRefusal)
        assert (await said_everywhere(house))[0] == "disabled_by_config"
        secret.write_text("/other", "utf-8")
        assert isinstance(await house.gateway.caller.call(call_of("read"), View()), ToolSuccess)
        assert house.status(READ) == "open"
        assert [dict(call.call.arguments) for call in house.provider(GITHUB).calls] == [
            {"path": "/srv"},
            {"path": "/other"},
        ]


async def test_an_operator_who_asks_what_does_not_fit_makes_the_board_look_again(tmp_path: Path) -> None:
    rows = board(saying(pin("${file:key}")))
    async with opened(rows, Providers({GITHUB: shelf()}), expand=expander({}, tmp_path)) as house:
        (misfit,) = all_misfits(house.gateway.board)
        assert (misfit.tool, misfit.field) == (READ, "arguments.path")
        assert "nobody can call the tool" in misfit.problem
        (tmp_path / "key").write_text("/srv", "utf-8")
        assert all_misfits(house.gateway.board) == ()
        assert house.status(READ) == "open"


async def test_a_board_whose_values_stay_as_they_are_keeps_its_policy() -> None:
    async with opened(board(saying(pin(5))), Providers({GITHUB: shelf()})) as house:
        policy = house.board.policy
        assert not house.board.refresh_values()
        assert house.board.policy is policy
