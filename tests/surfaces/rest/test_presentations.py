"""What each presentation costs, by the API: for any view."""

from typing import Any

import pytest
from tests.surfaces.rest.desk import at_desk, problem

from pegboard.core.model.selection import View
from pegboard.core.model.settings import PresentationMode
from pegboard.core.presentations.costs import PRESENTATION_TOOLS
from pegboard.gateway.doctor import costs_of

pytestmark = pytest.mark.anyio


@pytest.mark.behaviour("present.costs")
async def test_each_presentation_is_told_with_its_path_its_tools_and_its_tokens() -> None:
    async with at_desk() as desk:
        told: Any = await desk.get("/presentations")
        counted = costs_of(desk.house.gateway.board, View())
        narrow: Any = await desk.get("/presentations", toolsets="docs")
        refused = await desk.ask("GET", "/presentations", params={"toolsets": "dosc"})
    assert (told["chosen"], told["threshold"]) == ("direct", 100)
    assert told["presentations"] == [
        {
            "name": cost.presentation.value,
            "path": f"/mcp/{cost.presentation.value}",
            "tools": cost.tools,
            "tokens": cost.tokens,
        }
        for cost in counted
    ]
    assert [each["tools"] for each in told["presentations"][1:]] == [
        # What runs programs is told in the words of the settings.
        len(own) + (presented is PresentationMode.CODE)
        for presented, own in PRESENTATION_TOOLS.items()
    ]
    assert 0 < narrow["presentations"][0]["tokens"] < told["presentations"][0]["tokens"]
    assert problem(refused)[0] == 400
