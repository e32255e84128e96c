"""Which names may belong to a server that has not listed its tools yet, and what is told of it."""

from dataclasses import replace

import pytest
from tests.core.boards import DEV_FILES, DOCS_FILES, GITHUB, MATH, ME, NOW, SERVERS, server, toolset

from pegboard.core.catalogue import Catalogue, Down, Health, Listing, NeedsSignIn, Off, Starting, Up, catalogue
from pegboard.core.ids import ProviderKey, ServerKey, ToolId, ToolsetId
from pegboard.core.naming import hashed_name
from pegboard.core.policy import Decided, Declared, Policy
from pegboard.core.selection import Selection, TheseToolsets
from pegboard.core.status import Status, Unlisted, remedy, sentence, status
from pegboard.core.tool import Tool, ToolSpec
from pegboard.core.toolset import Toolset
from pegboard.core.unlisted import may_have, starting, why_unlisted
from pegboard.core.view import View

FIRST, SECOND = Starting(1, NOW), Starting(2, NOW)
DOWN = Down(NOW, "it exited with code 1")
TOOL = Tool(ToolId(DEV_FILES, "read"), ToolSpec("read"))
DECLARED = Declared(
    servers={key: server(key) for key in SERVERS},
    toolsets={key.toolset: Toolset(key.toolset, server(key).origin) for key in SERVERS},
)


def hung(**health: Health) -> Catalogue:
    """The files of dev are up; of the others each has the state that is said, or is up without tools."""
    return catalogue(
        [
            Listing(DEV_FILES, Up(NOW), (TOOL,)),
            Listing(GITHUB, health.get("github", Up(NOW))),
            Listing(DOCS_FILES, health.get("docs", Up(NOW))),
        ]
    )


def owners(
    name: str, board: Catalogue, policy: Policy | None = None, view: View | None = None
) -> dict[ProviderKey, str]:
    found = may_have(name, board, Policy(DECLARED) if policy is None else policy, View() if view is None else view)
    return {key: id.name for key, id in found.items()}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("search", {GITHUB: "search", DOCS_FILES: "search"}),
        ("dev__search", {GITHUB: "search"}),
        ("dev__github__search", {GITHUB: "search"}),
        ("docs__search", {DOCS_FILES: "search"}),
        ("dev__files__search", {}),
        ("other__search", {GITHUB: "other__search", DOCS_FILES: "other__search"}),
        (hashed_name(ToolId(GITHUB, "search all")), {GITHUB: hashed_name(ToolId(GITHUB, "search all"))[13:]}),
        ("mcp:dev~github:search all", {GITHUB: "search all"}),
        ("mcp:dev~files:search", {}),
        ("mcp:github:search", {}),
        ("dev:search", {}),
        ("search all", {}),
        ("", {}),
        ("x" * 65, {}),
        ("pegboard_ticket", {}),
    ],
)
@pytest.mark.behaviour("calls.wait_for_a_start")
def test_a_name_may_belong_to_a_server_without_a_list_unless_it_is_out_of_anothers_namespace(
    name: str, expected: dict[ServerKey, str]
) -> None:
    assert owners(name, hung(github=FIRST, docs=FIRST)) == expected


@pytest.mark.parametrize(
    ("name", "own"), [("add", "add"), ("math__add", "add"), ("math:add", "add"), ("dev__add", None)]
)
def test_a_name_may_belong_to_what_a_toolset_brings_itself(name: str, own: str | None) -> None:
    declared = replace(DECLARED, servers={MATH: server(MATH)}, toolsets={MATH.toolset: toolset("math")})
    silent = catalogue([Listing(MATH, FIRST), Listing(DEV_FILES, Up(NOW), (TOOL,))])
    assert owners(name, silent, Policy(declared)) == ({} if own is None else {MATH: own})


@pytest.mark.parametrize("health", [Up(NOW), Off()])
def test_no_name_belongs_to_a_server_that_has_listed_or_is_off(health: Health) -> None:
    assert owners("search", hung(github=health)) == {}


def test_a_server_that_keeps_its_former_tools_is_no_riddle() -> None:
    listing = Listing(DEV_FILES, FIRST, (TOOL,))
    assert owners("write", catalogue([listing])) == {}


@pytest.mark.behaviour("calls.wait_for_a_start", "law.withheld_stays_withheld")
def test_whoever_could_not_see_the_tool_is_not_told_of_its_server() -> None:
    board = hung(github=FIRST, docs=FIRST)
    granted = Policy(DECLARED, Decided(grants={ME: frozenset({ToolsetId("docs")})}))
    assert owners("search", board, granted, View(ME)) == {DOCS_FILES: "search"}
    chosen = Policy(replace(DECLARED, selection=Selection(TheseToolsets(("dev",)), disabled=("dev:find",))))
    assert owners("search", board, chosen) == {GITHUB: "search"}
    assert owners("find", board, chosen) == {}
    narrow = View(narrowings=(Selection(TheseToolsets(("docs",))),))
    assert owners("search", board, view=narrow) == {DOCS_FILES: "search"}
    assert owners("dev__search", board, view=narrow) == {}


def test_only_a_first_start_is_worth_waiting_for() -> None:
    board = hung(github=FIRST, docs=SECOND)
    found = may_have("search", board, Policy(DECLARED), View())
    assert starting(found, board) == (GITHUB,)
    board = hung(github=DOWN, docs=NeedsSignIn(NOW))
    assert starting(may_have("search", board, Policy(DECLARED), View()), board) == ()


@pytest.mark.behaviour("calls.wait_for_a_start")
def test_what_is_told_names_the_servers_and_one_remedy() -> None:
    def told(near: bool, **health: Health) -> Unlisted | None:
        board = hung(**health)
        return why_unlisted(may_have("search", board, Policy(DECLARED), View()), board, near=near)

    alone = told(False, github=SECOND)
    assert alone == Unlisted((GITHUB,), SECOND)
    assert status(alone) is Status.SERVER_UNAVAILABLE
    assert sentence(alone) == "dev~github is starting (attempt 2), and has not listed its tools yet."
    assert remedy(alone).startswith("Try again in a moment")
    both = told(True, github=FIRST, docs=SECOND)
    assert both is not None
    assert (
        sentence(both) == "dev~github, docs~files have not listed their tools yet; dev~github is starting (attempt 1)."
    )
    assert told(False, github=DOWN, docs=SECOND) == Unlisted((DOCS_FILES,), SECOND)
    broken = told(False, github=DOWN)
    assert broken == Unlisted((GITHUB,), DOWN)
    assert sentence(broken) == "dev~github is down: it exited with code 1, and has not listed its tools yet."
    assert told(True, github=DOWN) is None, "a name that is nearly another was mistyped"
    unsigned = told(False, github=NeedsSignIn(NOW))
    assert unsigned is not None
    assert remedy(unsigned) == "Ask the user to sign in: pegboard servers sign-in dev~github"
    assert told(False) is None
