"""The own tools of a toolset are seen for the first time when it is imported."""

from dataclasses import replace

import pytest
from tests.core.boards import ME, key, spec
from tests.core.imports import FETCH, ID, KIT, installing, own, own_tool, policy, server
from tests.core.test_imported import LATER, YOU, done

from pegboard.core.commands.commands import TakeBaseline
from pegboard.core.commands.first_sight import awaits_first_sight
from pegboard.core.commands.toolset_install import InstallToolset, RemoveToolset
from pegboard.core.model.catalogue import Listing, ProviderUp
from pegboard.core.model.ids import ServerKey, ToolId
from pegboard.core.model.server import Trust
from pegboard.core.model.tool import Tool, ToolSpec
from pegboard.core.policy.policy import Approval


def test_what_looks_sound_is_approved_at_the_first_import_and_at_no_other() -> None:
    add, grep = own_tool("add"), own_tool("grep")
    first = done(policy(), installing(own("add", "grep"), sound=frozenset({add})))
    assert first.decisions.approvals == {add: Approval(spec(add, 0), ME, LATER, first_sight=True)}
    assert first.decisions.first_seen == {KIT: LATER}
    changed = installing(own("add", "grep", variant=1), version="2", sound=frozenset({add, grep}))
    assert done(first, changed, YOU).decisions.approvals == first.decisions.approvals


@pytest.mark.parametrize("trust", [Trust.OPEN, Trust.STRICT])
def test_first_sight_approves_nothing_where_it_is_not_what_counts(trust: Trust) -> None:
    add = own_tool("add")
    after = done(policy(), installing(replace(own("add"), trust=trust), sound=frozenset({add}))).decisions
    assert (after.approvals, after.first_seen) == ({}, {})


def listing(key: ServerKey) -> Listing:
    return Listing(key, ProviderUp(LATER), (Tool(ToolId(key, "find"), ToolSpec("find")),))


@pytest.mark.behaviour("toolsets.what_comes_later_waits")
@pytest.mark.parametrize("between", [None, installing(own("add"))], ids=["renamed", "away for a while"])
def test_a_server_that_comes_with_a_later_import_has_no_first_sight(between: InstallToolset | None) -> None:
    first = done(policy(), installing(own("add"), server(FETCH)))
    assert awaits_first_sight(listing(FETCH), first)
    seen = done(first, TakeBaseline(FETCH, {}))
    if between is None:
        other = key(f"{ID}~fetch2")
        later = done(seen, installing(own("add"), server(other)))
        assert not awaits_first_sight(listing(other), later)
    else:
        later = done(done(seen, between), installing(own("add"), server(FETCH)))
        assert not awaits_first_sight(listing(FETCH), later)


@pytest.mark.behaviour("toolsets.what_comes_later_waits")
def test_tools_of_its_own_that_come_with_a_later_import_wait() -> None:
    add = own_tool("add")
    later = done(
        done(policy(), installing(server(FETCH))), installing(server(FETCH), own("add"), sound=frozenset({add}))
    )
    assert later.decisions.approvals == {}
    assert KIT in later.decisions.first_seen


def test_a_toolset_that_was_removed_comes_for_the_first_time_again() -> None:
    gone = done(done(policy(), installing(server(FETCH))), RemoveToolset(ID))
    assert awaits_first_sight(listing(FETCH), done(gone, installing(server(FETCH))))
