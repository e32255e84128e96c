"""The API holds another configuration against the one that is loaded, and changes nothing by it."""

import pytest
from tests.support.house import declared
from tests.support.sentences import locked_verdict
from tests.surfaces.rest.desk import GITHUB, NOTES, at_desk, problem

from pegboard.core.decision.status import DeniedByToolFilter
from pegboard.core.model.ids import ToolId
from pegboard.core.model.server import DeclaredAt

pytestmark = pytest.mark.anyio

OTHER = """
servers:
  github: {command: x, toolset: dev, trust: open, disabled_tools: [write]}
  fresh: {command: x}
"""


@pytest.mark.behaviour("cli.diff")
async def test_what_would_change_is_told_and_nothing_changes() -> None:
    async with at_desk(declared(GITHUB, NOTES)) as desk:
        before = desk.house.board.policy
        answer = await desk.ask("POST", "/diff", json={"file": "/srv/other.yaml", "text": OTHER})
        body = answer.json()
        assert desk.house.board.policy is before
    assert answer.status_code == 200
    assert body == {
        "changes": [
            {
                "id": "mcp:dev~github:write",
                "before": {"verdict": "open"},
                "after": locked_verdict(
                    DeniedByToolFilter(
                        ToolId(GITHUB, "write"), "among the disabled_tools", DeclaredAt("/srv/other.yaml", 3)
                    )
                ),
            }
        ],
        "removedServers": ["docs~notes"],
        "addedServers": ["fresh~fresh"],
        "startedServers": [],
        "changedServers": ["dev~github"],
        "conflicts": [],
        "unknownNames": [],
        "warnings": [],
    }


async def test_a_broken_file_is_refused_with_every_problem() -> None:
    async with at_desk() as desk:
        answer = await desk.ask("POST", "/diff", json={"file": "/srv/o.yaml", "text": "servrs: {}\ndeny: 7\n"})
    assert problem(answer)[0] == 422
    assert answer.json()["errors"] == [
        "/srv/o.yaml:1: servrs: unknown key. Did you mean 'servers'?",
        "/srv/o.yaml:2: deny: this must be a list, and it is 7. Write [one, two].",
    ]
