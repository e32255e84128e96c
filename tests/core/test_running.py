"""Which servers run, what first sight records, and what another policy would change."""

from dataclasses import replace

import pytest
from tests.core.boards import DEV_FILES, DOCS_FILES, GITHUB, MATH, ME, NOW, OFF, board, key, server, tool, toolset

from pegboard.core.commands.commands import TakeBaseline
from pegboard.core.commands.first_sight import connection_settings, first_sight_command, servers_to_run
from pegboard.core.decision.resolve import LockedTool, OpenTool, resolve
from pegboard.core.decision.status import SwitchedOff
from pegboard.core.explain.what_if import VerdictChange, WhatIf, what_if
from pegboard.core.model.catalogue import (
    Health,
    Listing,
    ProviderAsleep,
    ProviderDown,
    ProviderNeedsSignIn,
    ProviderOff,
    ProviderStart,
    ProviderUp,
)
from pegboard.core.model.ids import SourceKey, ToolId, ToolsetId
from pegboard.core.model.selection import Selection, View
from pegboard.core.model.server import StartOnDemand, Trust

READ, WRITE = tool(GITHUB, "read"), tool(GITHUB, "write")
BOARD = board([READ, WRITE, tool(DEV_FILES, "read"), tool(DOCS_FILES, "read")], trust=Trust.BASELINE)


def test_a_server_runs_when_it_and_its_toolset_are_on_and_it_was_reviewed() -> None:
    assert [*servers_to_run(BOARD.policy)] == [DEV_FILES, GITHUB, DOCS_FILES]
    assert [*servers_to_run(BOARD.deciding(switches={GITHUB: OFF}).policy)] == [DEV_FILES, DOCS_FILES]
    assert [*servers_to_run(BOARD.deciding(switches={GITHUB.toolset: OFF}).policy)] == [DOCS_FILES]
    assert [*servers_to_run(BOARD.deciding(switches={READ.id: OFF}).policy)] == [DEV_FILES, GITHUB, DOCS_FILES]
    quarantined = BOARD.with_server(server(GITHUB, quarantined=True))
    assert GITHUB not in servers_to_run(quarantined.policy)
    assert [*servers_to_run(BOARD.declaring(toolsets={ToolsetId("dev"): toolset("dev", enabled=False)}).policy)] == [
        DOCS_FILES
    ]


UP = ProviderUp(NOW)


def listing(source: SourceKey = GITHUB, health: Health = UP) -> Listing:
    return Listing(source, health, (READ, WRITE))


@pytest.mark.behaviour("approvals.trust_baseline")
def test_first_sight_of_a_baseline_server_records_all_that_it_lists() -> None:
    assert first_sight_command(listing(), BOARD.policy) == TakeBaseline(
        GITHUB, {READ.id: READ.spec, WRITE.id: WRITE.spec}
    )


@pytest.mark.behaviour("approvals.trust_open", "approvals.trust_strict")
@pytest.mark.parametrize("trust", [Trust.OPEN, Trust.STRICT])
def test_a_server_of_another_trust_has_no_first_sight(trust: Trust) -> None:
    assert first_sight_command(listing(), BOARD.deciding(trust={GITHUB: trust}).policy) is None


@pytest.mark.parametrize(
    "health", [ProviderStart(1, NOW), ProviderDown(NOW, "gone"), ProviderNeedsSignIn(NOW), ProviderOff()]
)
def test_a_server_that_is_not_up_has_not_been_seen(health: Health) -> None:
    assert first_sight_command(listing(GITHUB, health), BOARD.policy) is None


@pytest.mark.behaviour("on_demand.tools_stay_open")
def test_a_server_that_fell_asleep_before_anybody_looked_has_been_seen_and_one_without_tools_has_not() -> None:
    assert first_sight_command(listing(GITHUB, ProviderAsleep(NOW)), BOARD.policy) == first_sight_command(
        listing(), BOARD.policy
    )
    assert first_sight_command(Listing(GITHUB, ProviderAsleep(NOW)), BOARD.policy) is None


@pytest.mark.behaviour("on_demand.tools_stay_open")
def test_the_tools_of_a_server_that_sleeps_are_open() -> None:
    asleep = BOARD.with_health(GITHUB, ProviderAsleep(NOW))
    before, after = (resolve(wall.catalogue, wall.policy, View(ME)) for wall in (BOARD, asleep))
    assert after.verdicts[READ.id] == OpenTool(READ)
    assert after == before


def test_a_server_is_made_anew_when_it_is_to_start_otherwise_and_not_for_another_trust() -> None:
    one = server(GITHUB)
    assert connection_settings(one) == connection_settings(server(GITHUB, trust=Trust.OPEN))
    assert connection_settings(one) != connection_settings(server(GITHUB, starts=StartOnDemand()))


def test_nothing_else_has_a_first_sight() -> None:
    decided = BOARD.policy.decisions
    seen = replace(BOARD.policy, decisions=replace(decided, first_seen={GITHUB: NOW}))
    assert first_sight_command(listing(), seen) is None
    assert first_sight_command(listing(), BOARD.with_server(server(GITHUB, quarantined=True)).policy) is None
    assert first_sight_command(listing(key("no~where")), BOARD.policy) is None
    assert first_sight_command(listing(MATH), BOARD.policy) is None


def test_what_if_tells_which_tools_would_change_their_verdict_and_why() -> None:
    after = BOARD.deciding(switches={READ.id: OFF}).policy
    assert what_if(BOARD.catalogue, BOARD.policy, after, View(ME)) == WhatIf(
        changes=(VerdictChange(READ.id, OpenTool(READ), LockedTool(READ, SwitchedOff(READ.id, OFF))),),
        removed_servers=(),
        new_servers=(),
    )
    assert what_if(BOARD.catalogue, BOARD.policy, BOARD.policy, View(ME)) == WhatIf((), (), ())


def test_what_if_tells_servers_that_come_and_go_without_listing_their_tools_twice() -> None:
    new = key("dev~new")
    kept = [each for key, each in BOARD.policy.declared.servers.items() if key != GITHUB]
    after = BOARD.declaring(servers={each.key: each for each in (*kept, server(new))}).policy
    assert what_if(BOARD.catalogue, BOARD.policy, after, View(ME)) == WhatIf(
        (), removed_servers=(GITHUB,), new_servers=(new,)
    )


def test_what_if_sees_what_another_selection_takes_away() -> None:
    after = BOARD.declaring(selection=Selection(disabled=("mcp:docs~files",))).policy
    shifted = what_if(BOARD.catalogue, BOARD.policy, after, View(ME)).changes
    assert [shift.tool for shift in shifted] == [ToolId(DOCS_FILES, "read")]
