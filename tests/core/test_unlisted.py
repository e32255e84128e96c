"""Which names may belong to a server that has not listed its tools yet, and what is told of it."""

from dataclasses import replace

import pytest
from tests.core.boards import DEV_FILES, DOCS_FILES, GITHUB, MATH, ME, NOW, SERVERS, server, toolset

from pegboard.core.decision.listing_changes import possible_owners, servers_starting, why_unlisted
from pegboard.core.decision.status import LockStatus, NoToolListYet, explain_reason, remedy, status_of
from pegboard.core.model.catalogue import (
    Catalogue,
    Health,
    Listing,
    ProviderDown,
    ProviderNeedsSignIn,
    ProviderOff,
    ProviderStart,
    ProviderUp,
    build_catalogue,
)
from pegboard.core.model.ids import ProviderKey, ServerKey, ToolId, ToolsetId
from pegboard.core.model.selection import Selection, TheseToolsets, View
from pegboard.core.model.text import Audience
from pegboard.core.model.tool import Tool, ToolSpec
from pegboard.core.model.toolset import Toolset
from pegboard.core.model.wire_names import hashed_name
from pegboard.core.policy.policy import DeclaredSettings, Policy, PolicyDecisions

FIRST, SECOND = ProviderStart(1, NOW), ProviderStart(2, NOW)
DOWN = ProviderDown(NOW, "it exited with code 1")
TOOL = Tool(ToolId(DEV_FILES, "read"), ToolSpec("read"))
DECLARED = DeclaredSettings(
    servers={key: server(key) for key in SERVERS},
    toolsets={key.toolset: Toolset(key.toolset, server(key).origin) for key in SERVERS},
)


def hung(**health: Health) -> Catalogue:
    """The files of dev are up; of the others each has the state that is said, or is up without tools."""
    return build_catalogue(
        [
            Listing(DEV_FILES, ProviderUp(NOW), (TOOL,)),
            Listing(GITHUB, health.get("github", ProviderUp(NOW))),
            Listing(DOCS_FILES, health.get("docs", ProviderUp(NOW))),
        ]
    )


def owners(
    name: str, board: Catalogue, policy: Policy | None = None, view: View | None = None
) -> dict[ProviderKey, str]:
    found = possible_owners(
        name, board, Policy(DECLARED) if policy is None else policy, View() if view is None else view
    )
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
    silent = build_catalogue([Listing(MATH, FIRST), Listing(DEV_FILES, ProviderUp(NOW), (TOOL,))])
    assert owners(name, silent, Policy(declared)) == ({} if own is None else {MATH: own})


@pytest.mark.parametrize("health", [ProviderUp(NOW), ProviderOff()])
def test_no_name_belongs_to_a_server_that_has_listed_or_is_off(health: Health) -> None:
    assert owners("search", hung(github=health)) == {}


def test_a_server_that_keeps_its_former_tools_is_no_riddle() -> None:
    listing = Listing(DEV_FILES, FIRST, (TOOL,))
    assert owners("write", build_catalogue([listing])) == {}


@pytest.mark.behaviour("calls.wait_for_a_start", "law.withheld_stays_withheld")
def test_whoever_could_not_see_the_tool_is_not_told_of_its_server() -> None:
    board = hung(github=FIRST, docs=FIRST)
    granted = Policy(DECLARED, PolicyDecisions(grants={ME: frozenset({ToolsetId("docs")})}))
    assert owners("search", board, granted, View(ME)) == {DOCS_FILES: "search"}
    chosen = Policy(replace(DECLARED, selection=Selection(TheseToolsets(("dev",)), disabled=("dev:find",))))
    assert owners("search", board, chosen) == {GITHUB: "search"}
    assert owners("find", board, chosen) == {}
    narrow = View(narrowings=(Selection(TheseToolsets(("docs",))),))
    assert owners("search", board, view=narrow) == {DOCS_FILES: "search"}
    assert owners("dev__search", board, view=narrow) == {}


def test_only_a_first_start_is_worth_waiting_for() -> None:
    board = hung(github=FIRST, docs=SECOND)
    found = possible_owners("search", board, Policy(DECLARED), View())
    assert servers_starting(found, board) == (GITHUB,)
    board = hung(github=DOWN, docs=ProviderNeedsSignIn(NOW))
    assert servers_starting(possible_owners("search", board, Policy(DECLARED), View()), board) == ()


@pytest.mark.behaviour("calls.wait_for_a_start")
def test_what_is_told_names_the_servers_and_one_remedy() -> None:
    def told(near: bool, **health: Health) -> NoToolListYet | None:
        board = hung(**health)
        return why_unlisted(possible_owners("search", board, Policy(DECLARED), View()), board, near=near)

    alone = told(False, github=SECOND)
    assert alone == NoToolListYet((GITHUB,), SECOND)
    assert status_of(alone) is LockStatus.SERVER_UNAVAILABLE
    assert explain_reason(alone) == "dev~github is starting (attempt 2), and has not listed its tools yet."
    assert remedy(alone, Audience.AGENT).startswith("Try again in a moment")
    both = told(True, github=FIRST, docs=SECOND)
    assert both is not None
    assert (
        explain_reason(both)
        == "dev~github, docs~files have not listed their tools yet; dev~github is starting (attempt 1)."
    )
    assert told(False, github=DOWN, docs=SECOND) == NoToolListYet((DOCS_FILES,), SECOND)
    broken = told(False, github=DOWN)
    assert broken == NoToolListYet((GITHUB,), DOWN)
    assert explain_reason(broken) == "dev~github is down: it exited with code 1, and has not listed its tools yet."
    assert told(True, github=DOWN) is None, "a name that is nearly another was mistyped"
    unsigned = told(False, github=ProviderNeedsSignIn(NOW))
    assert unsigned is not None
    assert remedy(unsigned, Audience.AGENT) == "Ask the user to sign in: pegboard servers sign-in dev~github"
    assert told(False) is None
