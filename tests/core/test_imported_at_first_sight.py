"""The own tools of a toolset are seen for the first time when it is imported."""

from dataclasses import replace

import pytest
from tests.core.boards import ME, spec
from tests.core.imports import KIT, installing, own, own_tool, policy
from tests.core.test_imported import LATER, YOU, done

from pegboard.core.policy import Approval
from pegboard.core.server import Trust


def test_what_looks_sound_is_approved_at_the_first_import_and_at_no_other() -> None:
    add, grep = own_tool("add"), own_tool("grep")
    first = done(policy(), installing(own("add", "grep"), sound=frozenset({add})))
    assert first.decided.approvals == {add: Approval(spec(add, 0), ME, LATER, first_sight=True)}
    assert first.decided.baselined == {KIT: LATER}
    changed = installing(own("add", "grep", variant=1), version="2", sound=frozenset({add, grep}))
    assert done(first, changed, YOU).decided.approvals == first.decided.approvals


@pytest.mark.parametrize("trust", [Trust.OPEN, Trust.STRICT])
def test_first_sight_approves_nothing_where_it_is_not_what_counts(trust: Trust) -> None:
    add = own_tool("add")
    after = done(policy(), installing(replace(own("add"), trust=trust), sound=frozenset({add}))).decided
    assert (after.approvals, after.baselined) == ({}, {})
