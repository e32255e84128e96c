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

from pegboard.core.commands.base import Command
from pegboard.core.commands.commands import (
    AddServer,
    ApproveTool,
    BlockTool,
    RemoveServer,
    SetGrants,
    SetOverride,
    SetSwitch,
    SetToolSwitches,
    SetTrust,
    TakeBaseline,
    apply_command,
)
from pegboard.core.commands.toolset_install import RecordSecretChange
from pegboard.core.model.ids import PrincipalId, ServerKey, ToolId, ToolsetId
from pegboard.core.model.patterns import Pattern
from pegboard.core.model.rejection import CommandRejection
from pegboard.core.model.server import Server, Trust
from pegboard.core.model.tool import Fingerprint, ToolSpec
from pegboard.core.model.toolset import Toolset
from pegboard.core.overrides.model import Override
from pegboard.core.policy.policy import Approval, DeclaredSettings, IdClash, Policy, PolicyDecisions, Switch, id_clashes

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
        after = apply_command(policy, command, YOU, AT)
        assert isinstance(after, Policy), after
        assert (after.version, after.declared) == (policy.version + 1, policy.declared)
        policy = after
    return policy


def refused(policy: Policy, command: Command) -> str:
    after = apply_command(policy, command, YOU, AT)
    assert isinstance(after, CommandRejection)
    return after.why


INSTALLED = did(DECLARED, AddServer(INSTALLED_SERVER, INSTALLED_TOOLSET))


@pytest.mark.behaviour("commands.apply_or_reject", "toolsets.user_mcp_made_by_adding_a_server")
def test_adding_a_server_adds_it_and_its_toolset() -> None:
    assert INSTALLED.servers == {**DECLARED.servers, NEW: INSTALLED_SERVER}
    assert INSTALLED.decisions == replace(
        DECLARED.decisions, version=4, servers={NEW: INSTALLED_SERVER}, toolsets={NEW.toolset: INSTALLED_TOOLSET}
    )
    assert INSTALLED_TOOLSET.user_mcp


def test_a_second_server_of_a_toolset_leaves_the_toolset_as_it_is() -> None:
    second = server(key("new~second"), origin=PERSON)
    after = did(INSTALLED, AddServer(second, replace(INSTALLED_TOOLSET, name="other")))
    assert after.decisions.toolsets == {NEW.toolset: INSTALLED_TOOLSET}
    assert [*after.decisions.servers] == [NEW, second.key]


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
        (SetSwitch(key("no~where"), enabled=True), "There is no server no~where. See: pegboard servers list"),
        (
            SetSwitch(ToolId(key("no~where"), "x"), enabled=True),
            "There is no server no~where. See: pegboard servers list",
        ),
        (SetSwitch(ToolsetId("no"), enabled=True), "There is no toolset 'no'. See: pegboard toolset list"),
        (
            SetSwitch(ToolId(replace(MATH, toolset=ToolsetId("no")), "x"), enabled=True),
            "There is no toolset 'no' with tools of its own. See: pegboard toolset list",
        ),
        (SetTrust(key("no~where"), Trust.OPEN), "There is no server no~where. See: pegboard servers list"),
        (
            ApproveTool(READ, SPEC, Fingerprint("another")),
            "mcp:dev~github:read changed while you were reading it. "
            "Review the difference again: pegboard approvals list",
        ),
        (
            ApproveTool(ToolId(key("no~where"), "read"), SPEC, SPEC.fingerprint),
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
            SetOverride(Override(DEV, READ, enabled=True, is_declared=True)),
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
            RecordSecretChange(ToolsetId("no"), "API_KEY", is_set=True),
            "There is no toolset 'no'. See: pegboard toolset list",
        ),
    ],
    ids=lambda case: type(case).__name__ if not isinstance(case, str) else "",
)
def test_what_cannot_be_done_is_rejected_with_a_reason(command: Command, why: str) -> None:
    assert refused(INSTALLED, command) == why


def test_of_a_tools_switch_and_its_own_override_the_last_one_set_holds() -> None:
    own = Override(DEV, READ, enabled=False)
    switched = did(DECLARED, SetOverride(replace(own, renderer="code")), SetSwitch(READ, True))
    assert switched.decisions.overrides == (Override(DEV, READ, renderer="code"),)
    assert switched.decisions.switches == {}
    hidden = did(switched, SetOverride(own))
    assert hidden.decisions.switches == {}
    assert hidden.decisions.overrides == (own,)
    assert did(hidden, SetSwitch(READ, True)).decisions.overrides == ()


def test_an_override_that_says_nothing_of_a_switch_leaves_it_alone() -> None:
    switched = did(DECLARED, SetSwitch(READ, False))
    after = did(switched, SetOverride(Override(DEV, READ, renderer="code")))
    assert after.decisions.switches == switched.decisions.switches


@pytest.mark.parametrize(
    "what", [READ, GITHUB, DEV, NEW, NEW_READ, ToolId(MATH, "not listed yet"), ToolId(BUILTINS, "tool_search")]
)
def test_a_switch_is_kept_with_its_author_for_declared_and_installed_alike(
    what: ToolId | ServerKey | ToolsetId,
) -> None:
    after = did(INSTALLED, SetSwitch(what, enabled=False, note="too loud"))
    assert after.decisions.switches == {what: Switch(False, YOU, AT, "too loud")}
    again = did(after, SetSwitch(what, enabled=True))
    assert again.decisions.switches == ({} if isinstance(what, ToolId) else {what: Switch(True, YOU, AT)})


@pytest.mark.behaviour("overrides.nearest_switch_wins")
def test_a_switch_that_is_on_is_left_only_where_an_override_would_take_the_tool_away() -> None:
    assert did(DECLARED, SetSwitch(READ, True)).decisions.switches == {}
    hidden = did(DECLARED, SetOverride(Override(DEV, Pattern("*", "*"), enabled=False)))
    assert did(hidden, SetSwitch(READ, True)).decisions.switches == {READ: Switch(True, YOU, AT)}
    assert did(DECLARED, BlockTool(READ), SetSwitch(READ, True)).decisions.switches == {}


@pytest.mark.behaviour("approvals.name_the_fingerprint")
def test_approving_records_the_exact_spec_that_was_read() -> None:
    after = did(INSTALLED, ApproveTool(NEW_READ, SPEC, SPEC.fingerprint))
    assert after.decisions.approvals[NEW_READ] == Approval(SPEC, YOU, AT)
    changed = replace(SPEC, description="Deletes.")
    assert did(after, ApproveTool(NEW_READ, changed, changed.fingerprint)).decisions.approvals[NEW_READ].spec == changed


@pytest.mark.behaviour("approvals.trust_baseline")
def test_first_sight_approves_once_and_leaves_what_a_person_approved() -> None:
    write = ToolId(NEW, "write")
    mine = replace(SPEC, description="As I read it.")
    before = did(INSTALLED, ApproveTool(NEW_READ, mine, mine.fingerprint))
    after = did(before, TakeBaseline(NEW, {NEW_READ: SPEC, write: ToolSpec("write")}))
    assert after.decisions.approvals[NEW_READ] == Approval(mine, YOU, AT)
    assert after.decisions.approvals[write] == Approval(ToolSpec("write"), YOU, AT, first_sight=True)
    assert after.decisions.first_seen == {NEW: AT}
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
    assert after.decisions.overrides == (other, replace(one, renderer="c"))
    assert did(after, SetOverride(Override(DEV, READ))).decisions.overrides == (other,)


def test_a_built_in_can_be_overridden() -> None:
    row = Override(ToolsetId("builtin"), Pattern("*", "python_execution"), requires_confirmation=True)
    assert did(INSTALLED, SetOverride(row)).decisions.overrides == (row,)


def test_a_grant_is_exactly_these_toolsets_until_it_is_taken_away() -> None:
    after = did(INSTALLED, SetGrants(ME, frozenset({DEV})))
    assert (after.granted_toolsets(ME), after.granted_toolsets(YOU)) == (frozenset({DEV}), None)
    assert did(after, SetGrants(ME, frozenset())).granted_toolsets(ME) == frozenset()
    assert did(after, SetGrants(ME, None)).granted_toolsets(ME) is None


def test_a_persons_grant_lies_over_the_declared_one() -> None:
    declared = replace(INSTALLED, declared=replace(INSTALLED.declared, grants={ME: frozenset({DEV})}))
    assert declared.granted_toolsets(ME) == frozenset({DEV})
    assert did(declared, SetGrants(ME, frozenset())).granted_toolsets(ME) == frozenset()


def test_removing_a_server_forgets_all_that_was_decided_about_it_alone() -> None:
    full = did(
        INSTALLED,
        ApproveTool(NEW_READ, SPEC, SPEC.fingerprint),
        TakeBaseline(NEW, {ToolId(NEW, "write"): SPEC}),
        SetSwitch(NEW, enabled=False),
        SetSwitch(NEW_READ, enabled=False),
        SetSwitch(NEW.toolset, enabled=False),
        SetTrust(NEW, Trust.OPEN),
        SetOverride(Override(NEW.toolset, NEW_READ, renderer="a")),
        SetOverride(Override(NEW.toolset, Pattern("*", "*"), renderer="b")),
    )
    assert did(full, RemoveServer(NEW)).decisions == replace(DECLARED.decisions, version=full.version + 1)


def test_removing_one_of_two_servers_keeps_the_toolset_and_the_other() -> None:
    second = key("new~second")
    pattern = Override(NEW.toolset, Pattern("*", "*"), renderer="b")
    both = did(
        INSTALLED,
        AddServer(server(second, origin=PERSON), INSTALLED_TOOLSET),
        ApproveTool(ToolId(second, "read"), SPEC, SPEC.fingerprint),
        ApproveTool(NEW_READ, SPEC, SPEC.fingerprint),
        SetSwitch(NEW.toolset, enabled=False),
        SetOverride(pattern),
    )
    after = did(both, RemoveServer(NEW)).decisions
    assert (set(after.servers), set(after.toolsets)) == ({second}, {NEW.toolset})
    assert {tool for tool in after.approvals if tool.toolset == NEW.toolset} == {ToolId(second, "read")}
    assert (after.switches, after.overrides) == ({NEW.toolset: Switch(False, YOU, AT)}, (pattern,))


def test_an_explicit_toolset_stays_when_its_last_server_goes() -> None:
    explicit = did(DECLARED, AddServer(INSTALLED_SERVER, replace(INSTALLED_TOOLSET, user_mcp=False)))
    assert [*did(explicit, RemoveServer(NEW)).decisions.toolsets] == [NEW.toolset]


# --- two sources -----------------------------------------------------------------------------------------------------


def clashing() -> tuple[DeclaredSettings, PolicyDecisions]:
    again: Server = server(NEW)
    declared = replace(
        DECLARED.declared,
        servers={**DECLARED.declared.servers, NEW: again},
        toolsets={**DECLARED.declared.toolsets, NEW.toolset: toolset("new")},
    )
    return declared, INSTALLED.decisions


@pytest.mark.behaviour("toolsets.declared_and_installed_clash")
def test_an_id_in_both_sources_is_a_clash_that_names_both_places_and_how_to_mend_it() -> None:
    assert id_clashes(*clashing()) == (IdClash("new~new", FILE, "installed by me"),)
    assert str(id_clashes(*clashing())[0]) == (
        "'new~new' is declared at pegboard.yaml:7 and also installed by me. "
        "Rename it in the file, or run: pegboard servers remove new~new"
    )
    assert id_clashes(DECLARED.declared, INSTALLED.decisions) == ()


def test_a_toolset_in_both_sources_is_a_clash_even_when_their_servers_differ() -> None:
    declared = DeclaredSettings(servers={DOCS_FILES: server(DOCS_FILES)}, toolsets={ToolsetId("docs"): toolset("docs")})
    decided = PolicyDecisions(toolsets={ToolsetId("docs"): Toolset(ToolsetId("docs"), PERSON)})
    assert id_clashes(declared, decided) == (IdClash("docs", FILE, "installed by me"),)


def test_the_command_that_a_clash_names_mends_it() -> None:
    policy = Policy(*clashing())
    after = did(policy, RemoveServer(NEW))
    assert id_clashes(after.declared, after.decisions) == ()
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
    policy = did(DECLARED, *map(SetOverride, rows), SetSwitch(GITHUB, False))
    for on in (True, False):
        together = did(policy, SetToolSwitches((READ, other, add), on, "many"))
        apart = did(policy, *(SetSwitch(what, on, "many") for what in (READ, other, add)))
        assert replace(together.decisions, version=0) == replace(apart.decisions, version=0)
        assert together.version == policy.version + 1


@pytest.mark.behaviour("rest.switches_together")
def test_of_several_switches_none_is_thrown_when_a_server_is_not_there() -> None:
    refused = apply_command(DECLARED, SetToolSwitches((READ, NEW_READ), enabled=False), YOU, AT)
    assert refused == CommandRejection("There is no server new~new. See: pegboard servers list")
