"""What the answer about a ticket says to do, where tools are not listed themselves."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.gateway.asking import ARGUMENTS, asking, text_of, ticket_of
from tests.support.house import call_of

from pegboard.core.calls.call import refusal_text
from pegboard.core.model.selection import View

pytestmark = pytest.mark.anyio


@pytest.mark.behaviour("confirmation.wait")
@pytest.mark.parametrize(
    ("presentation", "name", "arguments"), [("search", "name", "arguments"), ("meta", "tool", "input")]
)
async def test_where_tools_are_not_listed_the_text_says_how_the_ticket_tool_is_called(
    tmp_path: Path, presentation: str, name: str, arguments: str
) -> None:
    async with asking(tmp_path) as house:
        call = replace(call_of("delete", ARGUMENTS, client="cli 1"), presentation=presentation)
        ended = await house.gateway.caller.call(call, View())
        ticket = ticket_of(ended)
        way = (
            f'call call_tool with {{"{name}": "pegboard_ticket", "{arguments}": {{"ticket": "{ticket}"}}}}, which waits'
        )
        assert way in refusal_text(ended)  # type: ignore[arg-type]  # it is one: see above
        waiting = replace(
            call_of("pegboard_ticket", {"ticket": ticket, "wait": 0}, client="cli 1"), presentation=presentation
        )
        told = text_of(await house.gateway.caller.call(waiting, View()))
        assert (told.startswith("confirmation_required: A person must confirm"), way in told) == (True, True)
