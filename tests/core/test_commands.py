"""Commands: each yields the next version of the policy, or a rejection that says why and what to do instead."""

from dataclasses import replace
from datetime import timedelta

import pytest
from tests.core.boards import (
    BUILTINS,
    DEV_FILES,
    DOCS_FILES,
    FILE,
    GITHUB,
    MATH,
    ME,
    NOW,
    PERSON,
    board,
    key,
    server,
    tool,
    toolset,
)

from pegboard.core.commands import (
    AddServer,
    Approve,
    Block,
    Command,
    Grant,
    Rejected,
    RemoveServer,
    SetOverride,
    SetTrust,
    TakeBaseline,
    ThrowSwitch,
    apply,
)
from pegboard.core.ids import PrincipalId, ServerKey, ToolId, ToolsetId
from pegboard.core.imported import TurnSecret
from pegboard.core.override import Override
from pegboard.core.pattern import Pattern
from pegboard.core.policy import Approval, Clash, Decided, Declared, Policy, Switch, clashes
from pegboard.core.server import Server, Trust
from pegboard.core.settling import ThrowSeveral
from pegboard.core.tool import Fingerprint, ToolSpec
from pegboard.core.toolset import Toolset

AT = NOW + timedelta(days=1)
YOU = PrincipalId("you")
DEV = ToolsetId("dev")
NEW = key("new~new")
READ = ToolId(GITHUB, "read")
NEW_READ = ToolId(NEW, "read")
SPEC = ToolSpec("read", description="Reads.")
DECLARED = board([tool(GITHUB, "read"), tool(DEV_FILES, "read"), tool(MATH, "add")]).policy
INSTALLED_SERVER = server(NEW, origin=PERSON)
INSTALLED_TOOLSET = Toolset(NEW.toolset, PERSON)


def did(policy: Policy, *commands: Command) -> Policy:
    for command in commands:
        after = apply(policy, command, YOU, AT)
        assert isinstance(after, Policy), after
        assert (after.version, after.declared) == (policy.version + 1, policy.declared)
        policy = after
    return policy


def refused(policy: Policy, command: Command) -> str:
    after = apply(policy, command, YOU, AT)
    assert isinstance(after, Rejected)
    return after.why


INSTALLED = did(DECLARED, AddServer(INSTALLED_SERVER, INSTALLED_TOOLSET))


@pytest.mark.behaviour("commands.apply_or_reject", "toolsets.user_mcp_made_by_adding_a_server")
def test_adding_a_server_adds_it_and_its_toolset() -> None:
    assert INSTALLED.servers == {**DECLARED.servers, NEW: INSTALLED_SERVER}
    assert INSTALLED.decided == replace(
        DECLARED.decided, version=4, servers={NEW: INSTALLED_SERVER}, toolsets={NEW.toolset: INSTALLED_TOOLSET}
    )
    assert INSTALLED_TOOLSET.user_mcp


def test_a_second_server_of_a_toolset_leaves_the_toolset_as_it_is() -> None:
    second = server(key("new~second"), origin=PERSON)
    after = did(INSTALLED, AddServer(second, replace(INSTALLED_TOOLSET, name="other")))
    assert after.decided.toolsets == {NEW.toolset: INSTALLED_TOOLSET}
    assert [*after.decided.servers] == [NEW, second.key]


@pytest.mark.behaviour("toolsets.declared_is_read_only")
@pytest.mark.parametrize(
    ("command", "why"),
    [
        (
            AddServer(INSTALLED_SERVER, INSTALLED_TOOLSET),
            "Server new~new is there already: installed by me. Choose another id, or remove it first.",
        ),
        (
            AddServer(server(GITHUB, origin=PERSON), toolset("dev")),
            "Server dev~github is there already: pegboard.yaml:7. Choose another id, or remove it first.",
        ),
        (
            AddServer(server(key("dev~other"), origin=PERSON), toolset("dev")),
            "Toolset 'dev' is declared at pegboard.yaml:7, and a declared toolset is the operator's. "
            "Choose another toolset, or add the server in the file.",
        ),
        (
            AddServer(server(key("one~other"), origin=PERSON), toolset("another")),
            "Server one~other does not belong to toolset 'another'. Name one and the same toolset.",
        ),
        (RemoveServer(GITHUB), "Server dev~github is declared at pegboard.yaml:7. Remove it there."),
        (RemoveServer(key("no~where")), "There is no server no~where. See: pegboard servers list"),
        (ThrowSwitch(key("no~where"), on=True), "There is no server no~where. See: pegboard servers list"),
        (
            ThrowSwitch(ToolId(key("no~where"), "x"), on=True),
            "There is no server no~where. See: pegboard servers list",
        ),
        (ThrowSwitch(ToolsetId("no"), on=True), "There is no toolset 'no'. See: pegboard toolset list"),
        (
            ThrowSwitch(ToolId(replace(MATH, toolset=ToolsetId("no")), "x"), on=True),
            "There is no toolset 'no' with tools of its own. See: pegboard toolset list",
        ),
        (SetTrust(key("no~where"), Trust.OPEN), "There is no server no~where. See: pegboard servers list"),
        (
            Approve(READ, SPEC, Fingerprint("another")),
            "mcp:dev~github:read changed while you were reading it. "
            "Review the difference again: pegboard approvals list",
        ),
        (
            Approve(ToolId(key("no~where"), "read"), SPEC, SPEC.fingerprint),
            "There is no server no~where. See: pegboard servers list",
        ),
        (TakeBaseline(key("no~where")), "There is no server no~where. See: pegboard servers list"),
        (
            TakeBaseline(NEW, {NEW_READ: SPEC, READ: SPEC}),
            "mcp:dev~github:read is not a tool of new~new: only its own tools are approved at first sight.",
        ),
        (
            TakeBaseline(GITHUB, {READ: SPEC}),
            "dev~github is not trusted at first sight: what it lists must be approved one by one.",
        ),
        (
            SetOverride(Override(DEV, READ, enabled=True, declared=True)),
            "A declared override lives in its file. Edit the file instead.",
        ),
        (
            SetOverride(Override(DEV, NEW_READ, enabled=False)),
            "mcp:new~new:read is not in toolset 'dev', so the override would never fit.",
        ),
        (
            SetOverride(Override(ToolsetId("no"), Pattern("*", "*"), enabled=False)),
            "There is no toolset 'no'. See: pegboard toolset list",
        ),
        (
            TurnSecret(ToolsetId("no"), "API_KEY", is_set=True),
            "There is no toolset 'no'. See: pegboard toolset list",
        ),
    ],
    ids=lambda case: type(case).__name__ if not isinstance(case, str) else "",
)
def test_what_cannot_be_done_is_rejected_with_a_reason(command: Command, why: str) -> None:
    assert refused(INSTALLED, command) == why


def test_of_a_tools_switch_and_its_own_override_the_last_one_set_holds() -> None:
    own = Override(DEV, READ, enabled=False)
    switched = did(DECLARED, SetOverride(replace(own, renderer="code")), ThrowSwitch(READ, True))
    assert switched.decided.overrides == (Override(DEV, READ, renderer="code"),)
    assert switched.decided.switches == {}
    hidden = did(switched, SetOverride(own))
    assert hidden.decided.switches == {}
    assert hidden.decided.overrides == (own,)
    assert did(hidden, ThrowSwitch(READ, True)).decided.overrides == ()


def test_an_override_that_says_nothing_of_a_switch_leaves_it_alone() -> None:
    switched = did(DECLARED, ThrowSwitch(READ, False))
    after = did(switched, SetOverride(Override(DEV, READ, renderer="code")))
    assert after.decided.switches == switched.decided.switches


@pytest.mark.parametrize(
    "what", [READ, GITHUB, DEV, NEW, NEW_READ, ToolId(MATH, "not listed yet"), ToolId(BUILTINS, "tool_search")]
)
def test_a_switch_is_kept_with_its_author_for_declared_and_installed_alike(
    what: ToolId | ServerKey | ToolsetId,
) -> None:
    after = did(INSTALLED, ThrowSwitch(what, on=False, note="too loud"))
    assert after.decided.switches == {what: Switch(False, YOU, AT, "too loud")}
    again = did(after, ThrowSwitch(what, on=True))
    assert again.decided.switches == ({} if isinstance(what, ToolId) else {what: Switch(True, YOU, AT)})


@pytest.mark.behaviour("overrides.nearest_switch_wins")
def test_a_switch_that_is_on_is_left_only_where_an_override_would_take_the_tool_away() -> None:
    assert did(DECLARED, ThrowSwitch(READ, True)).decided.switches == {}
    hidden = did(DECLARED, SetOverride(Override(DEV, Pattern("*", "*"), enabled=False)))
    assert did(hidden, ThrowSwitch(READ, True)).decided.switches == {READ: Switch(True, YOU, AT)}
    assert did(DECLARED, Block(READ), ThrowSwitch(READ, True)).decided.switches == {}


@pytest.mark.behaviour("approvals.name_the_fingerprint")
def test_approving_records_the_exact_spec_that_was_read() -> None:
    after = did(INSTALLED, Approve(NEW_READ, SPEC, SPEC.fingerprint))
    assert after.decided.approvals[NEW_READ] == Approval(SPEC, YOU, AT)
    changed = replace(SPEC, description="Deletes.")
    assert did(after, Approve(NEW_READ, changed, changed.fingerprint)).decided.approvals[NEW_READ].spec == changed


@pytest.mark.behaviour("approvals.trust_baseline")
def test_first_sight_approves_once_and_leaves_what_a_person_approved() -> None:
    write = ToolId(NEW, "write")
    mine = replace(SPEC, description="As I read it.")
    before = did(INSTALLED, Approve(NEW_READ, mine, mine.fingerprint))
    after = did(before, TakeBaseline(NEW, {NEW_READ: SPEC, write: ToolSpec("write")}))
    assert after.decided.approvals[NEW_READ] == Approval(mine, YOU, AT)
    assert after.decided.approvals[write] == Approval(ToolSpec("write"), YOU, AT, first_sight=True)
    assert after.decided.baselined == {NEW: AT}
    assert refused(after, TakeBaseline(NEW, {})) == (
        "new~new was seen before: what it lists now must be approved one by one."
    )


def test_a_quarantined_server_is_not_trusted_at_first_sight() -> None:
    held = did(DECLARED, AddServer(replace(INSTALLED_SERVER, quarantined=True), INSTALLED_TOOLSET))
    assert refused(held, TakeBaseline(NEW, {NEW_READ: SPEC})).startswith("new~new is not trusted at first sight")


def test_trust_that_a_person_sets_lies_over_what_was_declared() -> None:
    after = did(INSTALLED, SetTrust(GITHUB, Trust.OPEN))
    assert after.trust(after.servers[GITHUB]) is Trust.OPEN
    assert INSTALLED.trust(INSTALLED.servers[GITHUB]) is Trust.STRICT


def test_setting_an_override_again_replaces_the_row_of_the_same_place_only() -> None:
    one, other = Override(DEV, READ, renderer="a"), Override(DEV, Pattern("*", "read"), renderer="b")
    after = did(INSTALLED, SetOverride(one), SetOverride(other), SetOverride(replace(one, renderer="c")))
    assert after.decided.overrides == (other, replace(one, renderer="c"))
    assert did(after, SetOverride(Override(DEV, READ))).decided.overrides == (other,)


def test_a_built_in_can_be_overridden() -> None:
    row = Override(ToolsetId("builtin"), Pattern("*", "python_execution"), requires_confirmation=True)
    assert did(INSTALLED, SetOverride(row)).decided.overrides == (row,)


def test_a_grant_is_exactly_these_toolsets_until_it_is_taken_away() -> None:
    after = did(INSTALLED, Grant(ME, frozenset({DEV})))
    assert (after.granted(ME), after.granted(YOU)) == (frozenset({DEV}), None)
    assert did(after, Grant(ME, frozenset())).granted(ME) == frozenset()
    assert did(after, Grant(ME, None)).granted(ME) is None


def test_a_persons_grant_lies_over_the_declared_one() -> None:
    declared = replace(INSTALLED, declared=replace(INSTALLED.declared, grants={ME: frozenset({DEV})}))
    assert declared.granted(ME) == frozenset({DEV})
    assert did(declared, Grant(ME, frozenset())).granted(ME) == frozenset()


def test_removing_a_server_forgets_all_that_was_decided_about_it_alone() -> None:
    full = did(
        INSTALLED,
        Approve(NEW_READ, SPEC, SPEC.fingerprint),
        TakeBaseline(NEW, {ToolId(NEW, "write"): SPEC}),
        ThrowSwitch(NEW, on=False),
        ThrowSwitch(NEW_READ, on=False),
        ThrowSwitch(NEW.toolset, on=False),
        SetTrust(NEW, Trust.OPEN),
        SetOverride(Override(NEW.toolset, NEW_READ, renderer="a")),
        SetOverride(Override(NEW.toolset, Pattern("*", "*"), renderer="b")),
    )
    assert did(full, RemoveServer(NEW)).decided == replace(DECLARED.decided, version=full.version + 1)


def test_removing_one_of_two_servers_keeps_the_toolset_and_the_other() -> None:
    second = key("new~second")
    pattern = Override(NEW.toolset, Pattern("*", "*"), renderer="b")
    both = did(
        INSTALLED,
        AddServer(server(second, origin=PERSON), INSTALLED_TOOLSET),
        Approve(ToolId(second, "read"), SPEC, SPEC.fingerprint),
        Approve(NEW_READ, SPEC, SPEC.fingerprint),
        ThrowSwitch(NEW.toolset, on=False),
        SetOverride(pattern),
    )
    after = did(both, RemoveServer(NEW)).decided
    assert (set(after.servers), set(after.toolsets)) == ({second}, {NEW.toolset})
    assert {tool for tool in after.approvals if tool.toolset == NEW.toolset} == {ToolId(second, "read")}
    assert (after.switches, after.overrides) == ({NEW.toolset: Switch(False, YOU, AT)}, (pattern,))


def test_an_explicit_toolset_stays_when_its_last_server_goes() -> None:
    explicit = did(DECLARED, AddServer(INSTALLED_SERVER, replace(INSTALLED_TOOLSET, user_mcp=False)))
    assert [*did(explicit, RemoveServer(NEW)).decided.toolsets] == [NEW.toolset]


# --- two sources -----------------------------------------------------------------------------------------------------


def clashing() -> tuple[Declared, Decided]:
    again: Server = server(NEW)
    declared = replace(
        DECLARED.declared,
        servers={**DECLARED.declared.servers, NEW: again},
        toolsets={**DECLARED.declared.toolsets, NEW.toolset: toolset("new")},
    )
    return declared, INSTALLED.decided


@pytest.mark.behaviour("toolsets.declared_and_installed_clash")
def test_an_id_in_both_sources_is_a_clash_that_names_both_places_and_how_to_mend_it() -> None:
    assert clashes(*clashing()) == (Clash("new~new", FILE, "installed by me"),)
    assert str(clashes(*clashing())[0]) == (
        "'new~new' is declared at pegboard.yaml:7 and also installed by me. "
        "Rename it in the file, or run: pegboard servers remove new~new"
    )
    assert clashes(DECLARED.declared, INSTALLED.decided) == ()


def test_a_toolset_in_both_sources_is_a_clash_even_when_their_servers_differ() -> None:
    declared = Declared(servers={DOCS_FILES: server(DOCS_FILES)}, toolsets={ToolsetId("docs"): toolset("docs")})
    decided = Decided(toolsets={ToolsetId("docs"): Toolset(ToolsetId("docs"), PERSON)})
    assert clashes(declared, decided) == (Clash("docs", FILE, "installed by me"),)


def test_the_command_that_a_clash_names_mends_it() -> None:
    policy = Policy(*clashing())
    after = did(policy, RemoveServer(NEW))
    assert clashes(after.declared, after.decided) == ()
    assert NEW in after.servers


def test_should_a_clash_slip_in_the_file_wins() -> None:
    policy = Policy(*clashing())
    assert (policy.servers[NEW].origin, policy.toolsets[NEW.toolset].origin) == (FILE, FILE)


def test_servers_and_toolsets_stand_in_one_order_whatever_their_source() -> None:
    assert [str(key) for key in INSTALLED.servers] == ["dev~files", "dev~github", "math", "new~new"]
    assert [*INSTALLED.toolsets] == ["dev", "math", "new"]


@pytest.mark.behaviour("rest.switches_together")
def test_several_switches_are_thrown_as_each_alone_would_be_and_in_one_version() -> None:
    other, add = ToolId(DEV_FILES, "read"), ToolId(MATH, "add")
    rows = (
        Override(DEV, READ, enabled=False, renderer="code"),
        Override(DEV, other, enabled=False),
        Override(MATH.toolset, Pattern("*", "*"), enabled=False),
    )
    policy = did(DECLARED, *map(SetOverride, rows), ThrowSwitch(GITHUB, False))
    for on in (True, False):
        together = did(policy, ThrowSeveral((READ, other, add), on, "many"))
        apart = did(policy, *(ThrowSwitch(what, on, "many") for what in (READ, other, add)))
        assert replace(together.decided, version=0) == replace(apart.decided, version=0)
        assert together.version == policy.version + 1


@pytest.mark.behaviour("rest.switches_together")
def test_of_several_switches_none_is_thrown_when_a_server_is_not_there() -> None:
    refused = apply(DECLARED, ThrowSeveral((READ, NEW_READ), on=False), YOU, AT)
    assert refused == Rejected("There is no server new~new. See: pegboard servers list")
