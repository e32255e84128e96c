"""The servers that one caller may know of: with counts where something is locked, and without those of others."""

import pytest
from tests.core.boards import DEV_FILES, DOCS_FILES, GITHUB, MATH, ME, NOW, OFF, Board, board, tool

from pegboard.core.decision.resolve import resolve
from pegboard.core.json.values import JsonObject
from pegboard.core.model.catalogue import (
    ProviderAsleep,
    ProviderDown,
    ProviderNeedsSignIn,
    ProviderOff,
    ProviderStart,
    ProviderUp,
)
from pegboard.core.model.ids import ToolId, ToolsetId
from pegboard.core.model.selection import Selection, View, parse_toolsets
from pegboard.core.presentations.search import health_word, list_upstream_servers

BOARD = board([tool(GITHUB, "read"), tool(GITHUB, "write"), tool(DOCS_FILES, "jot")], sources=(GITHUB, DEV_FILES))
PLAIN = View(ME)


def servers(board: Board, view: View = PLAIN) -> JsonObject:
    return list_upstream_servers(board.catalogue, board.policy, resolve(board.catalogue, board.policy, view))


def entry(toolset: str, server: str, **more: object) -> object:
    return {"id": f"{toolset}~{server}", "serverId": server, "toolsetId": toolset, "health": "up", **more}


@pytest.mark.behaviour("counts.in_upstream_servers", "counts.zero_omitted", "counts.only_when_something_is_locked")
def test_a_server_has_counts_only_where_something_is_locked() -> None:
    everything = [entry("dev", "files"), entry("dev", "github"), entry("docs", "files")]
    assert servers(BOARD) == {"servers": everything}
    one_off = BOARD.deciding(switches={ToolId(GITHUB, "write"): OFF})
    counted = entry("dev", "github", tools={"callable": 1, "disabled_by_user": 1})
    assert servers(one_off) == {"servers": [everything[0], counted, everything[2]]}


def test_what_a_toolset_brings_itself_is_told_of_without_the_id_of_a_server() -> None:
    own = board([tool(MATH, "add"), tool(MATH, "sum")])
    told = {"id": "math", "serverId": None, "toolsetId": "math", "health": "up"}
    assert servers(own) == {"servers": [told]}
    one_off = own.deciding(switches={ToolId(MATH, "add"): OFF})
    assert servers(one_off) == {"servers": [{**told, "tools": {"callable": 1, "disabled_by_user": 1}}]}


@pytest.mark.behaviour("locked.absent_outside_the_view")
def test_a_server_outside_the_view_is_not_told_of() -> None:
    only_docs = BOARD.deciding(grants={ME: frozenset({ToolsetId("docs")})})
    assert servers(only_docs) == {"servers": [entry("docs", "files")]}
    narrowed = PLAIN.narrow(Selection(parse_toolsets(["docs"])))
    assert servers(BOARD, narrowed) == {"servers": [entry("docs", "files")]}
    one_tool = PLAIN.narrow(Selection(parse_toolsets([]), enabled=("mcp:dev~github:read",)))
    assert servers(BOARD, one_tool) == {"servers": [entry("dev", "github")]}


@pytest.mark.parametrize(
    ("health", "word"),
    [
        (ProviderUp(NOW), "up"),
        (ProviderStart(1, NOW), "starting"),
        (ProviderDown(NOW, "gone"), "down"),
        (ProviderNeedsSignIn(NOW), "needs_sign_in"),
        (ProviderAsleep(NOW), "asleep"),
        (ProviderOff(), "off"),
    ],
)
def test_health_is_told_in_one_word(
    health: ProviderUp | ProviderStart | ProviderDown | ProviderNeedsSignIn | ProviderAsleep | ProviderOff, word: str
) -> None:
    assert health_word(health) == word
