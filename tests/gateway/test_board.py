"""The board: swapped whole, resolved once for each view and change, bounded, and with names that never move."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import timedelta

import anyio
import pytest
from tests.core.boards import ME, NOW, key, server, toolset
from tests.support.doubles import named

from pegboard.core.decision.resolve import LockedTool, OpenTool, judge_listing, resolve
from pegboard.core.json.values import Json
from pegboard.core.model.catalogue import Listing, ProviderDown, ProviderUp
from pegboard.core.model.ids import PrincipalId, ServerKey, ToolId, WireName
from pegboard.core.model.selection import Selection, View
from pegboard.core.model.server import Trust
from pegboard.core.model.tool import JsonSchema, Tool, ToolSpec
from pegboard.core.policy.policy import Approval, DeclaredSettings, Policy, PolicyDecisions, Switch
from pegboard.gateway import board as board_module
from pegboard.gateway.board import BoardState, Notice

GITHUB, FILES, NOTES = key("dev~github"), key("dev~files"), key("docs~notes")


def policy_of(*keys: ServerKey, trust: Trust = Trust.OPEN) -> Policy:
    return Policy(
        DeclaredSettings(
            servers={k: server(k, trust=trust) for k in keys},
            toolsets={k.toolset: toolset(k.toolset) for k in keys},
        )
    )


def hung(*listings: Listing) -> BoardState:
    board = BoardState(policy_of(*(listing.source for listing in listings if isinstance(listing.source, ServerKey))))
    for listing in listings:
        board.publish(listing)
    return board


def up(source: ServerKey, *names: str) -> Listing:
    return Listing(source, ProviderUp(NOW), named(source, *names))


def names(board: BoardState, view: View | None = None) -> Mapping[str, str]:
    return {str(id): name for id, name in board.resolution(view or View()).names.items()}


class Counted:
    """How often the core was asked, and about how many tools."""

    def __init__(self) -> None:
        self.resolved = 0
        self.judged: list[tuple[str, int]] = []

    def clear(self) -> None:
        self.resolved = 0
        self.judged.clear()


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counted:
    counts = Counted()

    def counted_judge(listing: Listing, policy: Policy) -> Mapping[ToolId, OpenTool | LockedTool]:
        counts.judged.append((str(listing.source), len(listing.tools)))
        return judge_listing(listing, policy)

    def counted_resolve(*args: object, **kwargs: object) -> object:
        counts.resolved += 1
        return resolve(*args, **kwargs)  # type: ignore[arg-type]  # passed on as it came

    monkeypatch.setattr(board_module, "judge_listing", counted_judge)
    monkeypatch.setattr(board_module, "resolve", counted_resolve)
    return counts


# Swapping


@pytest.mark.behaviour("gateway.swapped_whole")
def test_after_a_swap_the_resolution_is_of_the_new_catalogue_and_the_new_policy() -> None:
    board = hung(up(GITHUB, "read", "write"))
    before = board.resolution(View())
    off = PolicyDecisions(version=1, switches={ToolId(GITHUB, "read"): Switch(False, ME, NOW)})
    board.set_policy(replace(board.policy, decisions=off))
    board.publish(up(GITHUB, "read", "list"))
    after = board.resolution(View())
    assert after == resolve(board.catalogue, board.policy, View(), held=before.by_name)
    assert (after.policy_version, set(after.verdicts)) == (1, {ToolId(GITHUB, "read"), ToolId(GITHUB, "list")})
    assert (before.policy_version, set(before.verdicts)) == (0, {ToolId(GITHUB, "read"), ToolId(GITHUB, "write")})


@pytest.mark.behaviour("gateway.swapped_whole")
@pytest.mark.anyio
async def test_whoever_hears_the_bell_sees_a_whole_state() -> None:
    """Each listing is named after the policy that came with it, so a mixed state would show."""
    board = hung(up(GITHUB, "tool_0"))
    seen: list[tuple[int, str]] = []

    async def look() -> None:
        with board.changes.subscribe() as bell:
            while len(seen) < 20:
                await bell.wait()
                resolution = board.resolution(View())
                (tool,) = resolution.verdicts
                seen.append((resolution.policy_version, tool.name))

    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(look)
            await anyio.wait_all_tasks_blocked()
            for version in range(1, 21):
                board.set_policy(replace(board.policy, decisions=PolicyDecisions(version=version)))
                board.publish(up(GITHUB, f"tool_{version}"))
                await anyio.wait_all_tasks_blocked()
    assert seen == [(version, f"tool_{version}") for version in range(1, 21)]


def test_a_resolution_that_was_handed_out_never_changes() -> None:
    board = hung(up(GITHUB, "read"))
    handed_out = board.resolution(View())
    kept = dict(handed_out.verdicts)
    board.publish(Listing(GITHUB, ProviderDown(NOW, "it fell")))
    board.remove(GITHUB)
    assert dict(handed_out.verdicts) == kept


@pytest.mark.anyio
async def test_the_same_word_again_changes_nothing_and_rings_nothing() -> None:
    board = hung(up(GITHUB, "read"))
    before = board.resolution(View())
    with board.changes.subscribe() as bell:
        board.publish(up(GITHUB, "read"))
        board.set_policy(replace(board.policy, decisions=PolicyDecisions()))
        board.remove(FILES)
        with anyio.move_on_after(0) as waited:
            await bell.wait()
    assert waited.cancelled_caught
    assert board.resolution(View()) is before


def with_schema(schema: JsonSchema, extra: Mapping[str, Json] | None = None) -> Listing:
    tool = Tool(ToolId(GITHUB, "read"), ToolSpec("read", input_schema=schema), extra or {})
    return Listing(GITHUB, ProviderUp(NOW), (tool,))


@pytest.mark.behaviour("law.open_is_what_was_approved", "providers.mcp_changed_schema_is_seen")
@pytest.mark.parametrize(("approved", "now"), [(1, True), (0, False), (1, 1.0)])
def test_a_change_that_python_calls_equal_locks_all_the_same(approved: Json, now: Json) -> None:
    first = with_schema({"type": "object", "default": approved})
    board = BoardState(policy_of(GITHUB, trust=Trust.BASELINE))
    (tool,) = first.tools
    board.set_policy(
        replace(board.policy, decisions=PolicyDecisions(1, approvals={tool.id: Approval(tool.spec, ME, NOW)}))
    )
    board.publish(first)
    assert list(board.resolution(View()).open_tools()) == [tool]
    board.publish(with_schema({"type": "object", "default": now}))
    assert [locked.status.value for locked in board.resolution(View()).locked_tools()] == ["pending_approval"]


def test_a_change_of_what_is_only_passed_on_is_hung_too() -> None:
    board = hung(with_schema({"type": "object"}, {"_meta": {"shelf": 1}}))
    board.publish(with_schema({"type": "object"}, {"_meta": {"shelf": True}}))
    (tool,) = board.resolution(View()).open_tools()
    assert str(tool.extra) == "{'_meta': {'shelf': True}}"


def test_a_schema_too_deep_to_compare_is_hung_and_decided_on() -> None:
    def deep() -> Listing:
        nested: Json = {"type": "integer"}
        for _ in range(5000):
            nested = {"properties": {"a": nested}}
        assert isinstance(nested, dict)
        return with_schema(nested)

    board = hung(deep())
    board.publish(deep())
    for listing in (deep(), deep()):
        (tool,) = listing.tools
        board.set_policy(
            replace(board.policy, decisions=PolicyDecisions(1, approvals={tool.id: Approval(tool.spec, ME, NOW)}))
        )
    assert len(list(board.resolution(View()).open_tools())) == 1


# What it costs


@pytest.mark.behaviour("resolve.cost_is_flat")
def test_a_second_request_for_the_same_view_does_no_work_over_ten_thousand_tools(counted: Counted) -> None:
    board = hung(up(GITHUB, *(f"tool_{n}" for n in range(10_000))))
    view = View(PrincipalId("ann"), (Selection(disabled=("tool_7",)),))
    first = board.resolution(view)
    assert (counted.resolved, counted.judged) == (1, [("dev~github", 10_000)])
    counted.clear()
    again = View(PrincipalId("ann"), (Selection(disabled=("tool_7",)),))
    assert board.resolution(again) is first
    assert (counted.resolved, counted.judged) == (0, [])


@pytest.mark.behaviour("resolve.cost_is_flat")
def test_one_servers_new_word_judges_only_its_own_tools_again(counted: Counted) -> None:
    board = hung(up(GITHUB, *(f"tool_{n}" for n in range(5_000))), up(FILES, "read", "write"))
    board.resolution(View())
    counted.clear()
    board.publish(up(FILES, "read", "write", "list"))
    board.resolution(View())
    assert counted.judged == [("dev~files", 3)]


def test_another_view_of_the_same_board_judges_nothing_again(counted: Counted) -> None:
    board = hung(up(GITHUB, "read"), up(FILES, "write"))
    board.resolution(View())
    counted.clear()
    board.resolution(View(PrincipalId("ann")))
    assert (counted.resolved, counted.judged) == (1, [])


def test_a_new_policy_judges_every_tool_again(counted: Counted) -> None:
    board = hung(up(GITHUB, "read"), up(FILES, "write"))
    board.resolution(View())
    counted.clear()
    board.set_policy(replace(board.policy, decisions=PolicyDecisions(version=1)))
    board.resolution(View())
    assert sorted(counted.judged) == [("dev~files", 1), ("dev~github", 1)]


def views(count: int) -> Iterator[View]:
    return (View(PrincipalId(f"caller-{n}")) for n in range(count))


def remembered(board: BoardState) -> tuple[int, int]:
    """How many views are remembered, and how many tools and names all of them hold."""
    held = sum(len(told.reserved_names) for told in board._told.values())
    told = sum(len(told.resolution.verdicts) for told in board._told.values() if told.resolution is not None)
    return len(board._told), held + told


def test_ten_thousand_different_views_are_not_all_remembered() -> None:
    board = hung(up(GITHUB, "read", "write"))
    for view in views(10_000):
        board.resolution(view)
    assert remembered(board) == (board_module.MAX_CACHED_VIEWS, 4 * board_module.MAX_CACHED_VIEWS)
    board.remove(GITHUB)
    for view in views(10_000):
        board.resolution(view)
    count, weight = remembered(board)
    assert count == board_module.MAX_CACHED_VIEWS
    assert weight <= 2 * board_module.MAX_CACHED_VIEWS


def test_on_a_large_board_fewer_views_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(board_module, "MAX_CACHED_TOOLS", 10_000)
    board = hung(up(GITHUB, *(f"tool_{n}" for n in range(1000))))
    for view in views(50):
        board.resolution(view)
    assert remembered(board) == (5, 10_000)
    board.publish(up(GITHUB, "read"))
    board.publish(up(GITHUB, *(f"tool_{n}" for n in range(1000))))
    for view in views(50):
        board.resolution(view)
    assert remembered(board)[1] <= 10_000
    assert board._weight == remembered(board)[1]


def test_a_board_too_large_to_remember_twice_still_remembers_the_latest_view(
    monkeypatch: pytest.MonkeyPatch, counted: Counted
) -> None:
    monkeypatch.setattr(board_module, "MAX_CACHED_TOOLS", 10)
    board = hung(up(GITHUB, *(f"tool_{n}" for n in range(1000))))
    assert board.resolution(View()) is board.resolution(View())
    assert counted.resolved == 1


def test_the_view_that_was_asked_last_is_kept_longest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(board_module, "MAX_CACHED_VIEWS", 2)
    board = hung(up(GITHUB, "read"))
    ann, bob, eve = views(3)
    first = board.resolution(ann)
    board.resolution(bob)
    assert board.resolution(ann) is first
    board.resolution(eve)
    assert board.resolution(ann) is first
    assert set(board._told) == {ann, eve}


# Names


@pytest.mark.behaviour("naming.never_moves")
def test_the_name_of_a_tool_that_went_is_never_given_to_another() -> None:
    board = hung(up(GITHUB, "search"))
    assert names(board) == {"mcp:dev~github:search": "search"}
    board.remove(GITHUB)
    assert names(board) == {}
    board.set_policy(replace(policy_of(NOTES), decisions=PolicyDecisions(version=1)))
    board.publish(up(NOTES, "search"))
    given = {"mcp:docs~notes:search": "docs__search"}
    assert names(board) == given
    # And it stays so: what the other tool was called must not change by itself later.
    for version in range(2, 5):
        board.set_policy(replace(board.policy, decisions=PolicyDecisions(version=version)))
        assert names(board) == given


@pytest.mark.behaviour("naming.never_moves", "naming.same_view_same_names")
def test_a_tool_that_comes_back_has_its_old_name_again() -> None:
    board = hung(up(GITHUB, "search"))
    names(board)
    board.publish(up(GITHUB))
    names(board)
    board.publish(Listing(NOTES, ProviderUp(NOW), named(NOTES, "search")))
    board.publish(up(GITHUB, "search"))
    assert names(board)["mcp:dev~github:search"] != names(board)["mcp:docs~notes:search"]
    board.remove(NOTES)
    assert names(board) == {"mcp:dev~github:search": "search"}


@pytest.mark.behaviour("naming.never_moves")
def test_over_many_swaps_a_name_means_one_tool_only() -> None:
    board = hung(up(GITHUB, "search", "read"), up(NOTES, "read"))
    meant: dict[WireName, ToolId] = {}
    for n in range(60):
        board.publish(up(GITHUB, *(["search"] if n % 2 else []), *(["read"] if n % 3 else [])))
        board.publish(up(NOTES, *(["search"] if n % 5 else []), *(["read"] if n % 4 else [])))
        if n % 7 == 0:
            board.remove(NOTES)
        for name, id in board.resolution(View()).by_name.items():
            assert meant.setdefault(name, id) == id


def test_names_are_held_for_each_view_by_itself() -> None:
    board = hung(up(GITHUB, "search"), up(NOTES, "search"))
    ann = View(narrowings=(Selection(enabled=("mcp:dev~github",), disabled=("mcp:docs~notes",)),))
    assert names(board, ann) == {"mcp:dev~github:search": "search"}
    assert set(names(board).values()) == {"dev__search", "docs__search"}


def test_a_server_that_lists_other_names_each_time_does_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pegboard.gateway.board.MAX_RETIRED_NAMES", 100)
    board = hung(up(GITHUB, "tool_0"))
    for n in range(1000):
        board.publish(up(GITHUB, f"tool_{n}"))
        board.resolution(View())
    assert list(board._told[View()].reserved_names) == [f"tool_{n}" for n in range(899, 1000)]


# Notices


@pytest.mark.anyio
async def test_a_notice_is_told_once_and_keeps_the_time_at_which_it_became_true() -> None:
    board = BoardState()
    first = Notice("store", "The store does not answer.", NOW)
    with board.changes.subscribe() as bell:
        board.add_notice(first)
        with anyio.fail_after(30):
            await bell.wait()
        board.add_notice(replace(first, since=NOW + timedelta(minutes=1)))
        with anyio.move_on_after(0) as waited:
            await bell.wait()
        assert waited.cancelled_caught
        assert board.notices == {"store": first}
        other = Notice("store", "The store is full.", NOW + timedelta(minutes=2))
        board.add_notice(other)
        with anyio.fail_after(30):
            await bell.wait()
        assert board.notices == {"store": other}


@pytest.mark.anyio
async def test_a_forgotten_notice_is_gone_and_the_others_stay() -> None:
    board = BoardState()
    stays = Notice("configuration", "pegboard.yaml:3: unknown key.", NOW)
    board.add_notice(stays)
    board.add_notice(Notice("store", "The store does not answer.", NOW))
    handed_out = board.notices
    with board.changes.subscribe() as bell:
        board.remove_notice("store")
        with anyio.fail_after(30):
            await bell.wait()
        board.remove_notice("store")
        with anyio.move_on_after(0) as waited:
            await bell.wait()
    assert waited.cancelled_caught
    assert board.notices == {"configuration": stays}
    assert set(handed_out) == {"configuration", "store"}


def test_a_notice_changes_no_verdict(counted: Counted) -> None:
    board = hung(up(GITHUB, "read"))
    before = board.resolution(View())
    board.add_notice(Notice("store", "The store does not answer.", NOW))
    assert board.resolution(View()) is before
