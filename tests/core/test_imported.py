"""Importing toolsets: what people decided stays, what left the manifest is gone, and it is all or nothing."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from tests.core.boards import FILE, ME, NOW, OFF, PERSON, key, spec
from tests.core.imports import (
    BOX,
    FETCH,
    ID,
    KIT,
    MANIFEST,
    OTHER,
    contained,
    decisions,
    installing,
    installs,
    own,
    own_tool,
    policy,
    server,
)

from pegboard.core.commands.base import Command
from pegboard.core.commands.commands import AddServer, RemoveServer, SetSwitch, apply_command
from pegboard.core.commands.toolset_install import InstallToolset, RemoveToolset
from pegboard.core.decision.resolve import LockedTool, OpenTool, resolve
from pegboard.core.decision.status import SwitchedOff, explain_reason
from pegboard.core.explain.effects import override_misfits
from pegboard.core.model.catalogue import Listing, ProviderAsleep, ProviderUp, build_catalogue
from pegboard.core.model.ids import ID_RULE, PrincipalId, ToolId, ToolsetId
from pegboard.core.model.patterns import Pattern
from pegboard.core.model.principals import Principal
from pegboard.core.model.rejection import CommandRejection
from pegboard.core.model.selection import View
from pegboard.core.model.server import DeclaredAt, Server, Stdio, Trust
from pegboard.core.model.tool import OwnTools, Tool
from pegboard.core.model.toolset import Toolset
from pegboard.core.overrides.model import Override
from pegboard.core.policy.policy import Approval, DeclaredSettings, Policy, PolicyDecisions, id_clashes

LATER = NOW + timedelta(days=1)
YOU = PrincipalId("you")


def done(before: Policy, command: Command, by: PrincipalId = ME) -> Policy:
    after = apply_command(before, command, by, LATER)
    assert isinstance(after, Policy), after
    return after


def refused(before: Policy, command: Command, by: PrincipalId = ME) -> str:
    after = apply_command(before, command, by, LATER)
    assert isinstance(after, CommandRejection), after
    return after.why


def tools_of(decided: PolicyDecisions) -> set[ToolId]:
    servers = decided.servers.values()
    return {
        ToolId(each.key, spec.name)
        for each in servers
        if isinstance(each.connection, OwnTools)
        for spec in each.connection.specs
    }


def about(decided: PolicyDecisions, toolset: ToolsetId) -> Mapping[str, object]:
    """Everything that is kept of one toolset, wherever it is kept."""
    return {
        "toolset": decided.toolsets.get(toolset),
        "servers": {k: v for k, v in decided.servers.items() if k.toolset == toolset},
        "switches": {k: v for k, v in decided.switches.items() if (k if isinstance(k, str) else k.toolset) == toolset},
        "approvals": {k: v for k, v in decided.approvals.items() if k.toolset == toolset},
        "consents": {k: v for k, v in decided.consents.items() if v.tool.toolset == toolset},
        "baselined": {k: v for k, v in decided.first_seen.items() if k.toolset == toolset},
        "trust": {k: v for k, v in decided.trust.items() if k.toolset == toolset},
        "overrides": [row for row in decided.overrides if row.toolset == toolset],
        "manifest": [row for row in decided.manifest_overrides if row.toolset == toolset],
        "files": decided.files.get(toolset),
        "grants": {who for who, toolsets in decided.grants.items() if toolset in toolsets},
    }


@given(installs(), decisions())
def test_another_toolset_is_never_touched(install: InstallToolset, before: PolicyDecisions) -> None:
    after = done(policy(before), install)
    assert about(after.decisions, OTHER.toolset) == about(before, OTHER.toolset)
    without = done(after, RemoveToolset(ID))
    assert about(without.decisions, OTHER.toolset) == about(before, OTHER.toolset)


@pytest.mark.behaviour("toolsets.import_again_keeps_decisions")
@given(installs(), installs(), decisions())
def test_importing_again_keeps_what_people_decided_about_all_that_stays(
    first: InstallToolset, again: InstallToolset, before: PolicyDecisions
) -> None:
    there = done(policy(before), replace(first, approve=frozenset(), clean_tools=None)).decisions
    # What people decided about it while it was there.
    there = replace(there, approvals={**before.approvals, **there.approvals}, switches=before.switches)
    # Tools that it shows in another way wait for approval: see the tests of what an import tells.
    again = replace(again, overrides=first.overrides)
    after = done(policy(there), replace(again, approve=frozenset(), clean_tools=None)).decisions
    stays = {server.key for server in again.servers}
    gone = {tool for tool in there.approvals.keys() | there.switches.keys() if isinstance(tool, ToolId)}
    gone = {tool for tool in gone if tool.source == KIT and tool not in tools_of(after)}
    gone |= {tool for tool in there.approvals if tool.toolset == ID and tool.source not in stays}
    assert after.approvals == {tool: said for tool, said in there.approvals.items() if tool not in gone}
    assert after.overrides == there.overrides
    assert after.grants == there.grants
    kept = {what: switch for what, switch in there.switches.items() if what in (ID, OTHER) or what in stays}
    assert {what: switch for what, switch in after.switches.items() if not isinstance(what, ToolId)} == kept
    assert after.trust == {k: v for k, v in there.trust.items() if k in stays or k == OTHER}
    later = dict.fromkeys(stays - there.servers.keys(), LATER)
    assert after.first_seen == {k: v for k, v in there.first_seen.items() if k in stays or k == OTHER} | later


@pytest.mark.behaviour("toolsets.import_leaves_no_ghosts")
@given(installs(), installs(), decisions())
def test_importing_leaves_no_ghosts_and_takes_over_what_the_manifest_says(
    first: InstallToolset, again: InstallToolset, before: PolicyDecisions
) -> None:
    after = done(done(policy(before), first), again).decisions
    mine = {k: v for k, v in after.servers.items() if k.toolset == ID}
    assert mine.keys() == {server.key for server in again.servers}
    assert {k: v.connection for k, v in mine.items()} == {s.key: s.connection for s in again.servers}
    rows = tuple(replace(row, from_manifest=True) for row in again.overrides if row.fields_set)
    assert tuple(row for row in after.manifest_overrides if row.toolset == ID) == rows
    assert after.files == {ID: tuple(sorted(again.files, key=lambda file: file.path))}
    toolset = after.toolsets[ID]
    assert (toolset.version, toolset.user_mcp) == (again.toolset.version, False)
    for tool in (*after.approvals, *(what for what in after.switches if isinstance(what, ToolId))):
        assert tool.toolset != ID or tool.source in mine
        assert tool.source != KIT or tool in tools_of(after)


@given(installs(), decisions())
def test_importing_the_same_again_changes_nothing_but_the_version(
    install: InstallToolset, before: PolicyDecisions
) -> None:
    once = done(policy(before), install)
    twice = apply_command(once, install, YOU, LATER + timedelta(days=1))
    assert isinstance(twice, Policy)
    assert replace(twice.decisions, version=once.version) == once.decisions


@pytest.mark.behaviour("toolsets.import_leaves_no_ghosts")
@given(installs(), decisions())
def test_removing_a_toolset_takes_everything_of_it_along(install: InstallToolset, before: PolicyDecisions) -> None:
    after = done(done(policy(before), install), RemoveToolset(ID)).decisions
    assert about(after, ID) == about(PolicyDecisions(), ID)


@pytest.mark.behaviour("law.agents_cannot_widen")
@given(installs(), decisions())
def test_nothing_of_what_a_caller_installs_is_open_or_runs(install: InstallToolset, before: PolicyDecisions) -> None:
    declared = DeclaredSettings(principals={YOU: Principal(YOU, FILE)})
    there = policy(before, declared)
    after = apply_command(there, install, YOU, LATER)
    if install.approve or install.overrides:
        assert isinstance(after, CommandRejection)
        return
    assert isinstance(after, Policy)
    brought = [after.servers[server.key] for server in install.servers]
    assert all(server.quarantined and server.trust is not Trust.OPEN for server in brought)
    listed = [
        Listing(
            server.key,
            ProviderUp(NOW),
            tuple(Tool(id, each) for id, each in install.specs.items() if id.source == server.key),
        )
        for server in brought
    ]
    verdicts = resolve(build_catalogue(listed), after, View(ME)).verdicts
    assert not any(isinstance(verdict, OpenTool) for verdict in verdicts.values())
    again = apply_command(after, install, YOU, LATER)
    assert isinstance(again, CommandRejection)
    assert "only the operator imports it again" in again.why


def test_what_is_read_at_an_import_is_approved_and_nothing_else() -> None:
    first = done(policy(), installing(own("add", "sum")))
    known = replace(first.decisions, approvals={own_tool("add"): Approval(spec(own_tool("add"), 0), ME, NOW)})
    read = installing(own("add", "sum", "grep", variant=1), approve=frozenset({own_tool("add"), own_tool("grep")}))
    after = done(policy(known), read, YOU).decisions
    assert after.approvals == {
        own_tool("add"): Approval(spec(own_tool("add"), 1), YOU, LATER),
        own_tool("grep"): Approval(spec(own_tool("grep"), 1), YOU, LATER),
    }


def test_an_approval_that_holds_keeps_the_name_of_who_gave_it() -> None:
    add = own_tool("add")
    first = done(policy(), installing(own("add"), approve=frozenset({add})))
    again = done(first, installing(own("add"), version="2", approve=frozenset({add})), YOU)
    assert again.decisions.approvals == {add: Approval(spec(add, 0), ME, LATER)}


def test_a_review_that_is_due_is_still_due_after_another_import() -> None:
    first = done(policy(), installing(own("add"), replace(server(FETCH), quarantined=True)))
    again = done(first, installing(own("add"), server(FETCH, "other"), version="2"))
    assert again.servers[FETCH].quarantined
    assert again.servers[FETCH].connection == Stdio("other")


def test_what_changed_tells_who_changed_it_and_the_rest_who_brought_it() -> None:
    first = done(policy(), installing(own("add"), server(FETCH)))
    again = done(first, installing(own("add"), server(FETCH, "other"), version="2"), YOU)
    origins = {str(key): server.origin for key, server in again.servers.items()}
    assert origins == {"kit": replace(PERSON, at=LATER), "kit~fetch": replace(PERSON, by=YOU, at=LATER)}
    assert again.toolsets[ID].origin == replace(PERSON, by=YOU, at=LATER)


def test_a_persons_override_of_a_tool_that_is_gone_stays_and_is_told() -> None:
    first = done(policy(), installing(own("add", "sum")))
    mine = Override(ID, own_tool("sum"), name_override="Total")
    first = replace(first, decisions=replace(first.decisions, overrides=(mine,)))
    after = done(first, installing(own("add"), version="2"))
    listing = Listing(KIT, ProviderAsleep(NOW), (Tool(own_tool("add"), spec(own_tool("add"), 0)),))
    assert [(found.override, found.problem) for found in override_misfits(build_catalogue([listing]), after)] == [
        (mine, "kit lists no tool 'sum'.")
    ]


# --- manifest < pegboard.yaml < person ------------------------------------------------------------------------------


def looked(*, manifest: Override, declared: Override | None = None, person: Override | None = None) -> Policy:
    base = done(policy(), installing(own("add"), overrides=(manifest,), approve=frozenset({own_tool("add")})))
    return Policy(
        DeclaredSettings(overrides=() if declared is None else (replace(declared, is_declared=True),)),
        replace(base.decisions, overrides=() if person is None else (person,)),
    )


@pytest.mark.behaviour("overrides.manifest_is_the_base", "providers.container_overridden_alike")
def test_a_manifest_is_the_base_of_the_file_and_the_file_that_of_a_person() -> None:
    add = own_tool("add")
    every = Pattern("*", "*")
    manifest = Override(
        ID, add, renderer="code", name_override="M", description_override="M", requires_confirmation=True
    )
    declared = Override(ID, every, name_override="D", description_override="D")
    person = Override(ID, every, description_override="P")
    look = looked(manifest=manifest, declared=declared, person=person).overrides.for_tool(add)
    assert (look.renderer, look.name_override, look.description_override) == ("code", "D", "P")
    assert look.requires_confirmation is True


@pytest.mark.behaviour("confirmation.manifest_servers")
def test_servers_of_imported_toolsets_are_confirmed_if_the_file_says_so_and_their_manifest_nothing_else() -> None:
    at = DeclaredAt("pegboard.yaml", 7)
    rows = (Override(ID, Pattern("*", "read_*"), requires_confirmation=False),)
    imported = done(policy(), installing(own("add"), server(FETCH), contained(), overrides=rows))
    by_hand = done(imported, AddServer(server(key("lone~lone")), Toolset(ToolsetId("lone"), PERSON)))
    held = Policy(DeclaredSettings(confirm_manifest_servers=at), by_hand.decisions)

    def asks(held: Policy, tool: ToolId) -> bool | None:
        return held.overrides.for_tool(tool).requires_confirmation

    get, read, lone = ToolId(FETCH, "get"), ToolId(FETCH, "read_page"), ToolId(key("lone~lone"), "get")
    tools = (get, read, ToolId(BOX, "get"), own_tool("add"), lone)
    assert [asks(held, tool) for tool in tools] == [True, False, True, None, None]
    assert [asks(by_hand, tool) for tool in tools] == [None, False, None, None, None]
    assert held.overrides.requires_confirmation(get)
    assert held.overrides.for_tool(get).origin["requires_confirmation"].origin("requires_confirmation") == at
    # Nothing is told of a server that lists no tool.
    assert [*override_misfits(build_catalogue([Listing(FETCH, ProviderUp(NOW), ())]), held)] == []
    mine = Override(ID, Pattern("*", "*"), requires_confirmation=False)
    assert asks(replace(held, decisions=replace(held.decisions, overrides=(mine,))), get) is False
    stated = Override(ID, Pattern(str(FETCH), "*"), requires_confirmation=False)
    silent = done(policy(), installing(own("add"), server(FETCH), overrides=(stated,)))
    assert asks(Policy(held.declared, silent.decisions), get) is False


def verdict(held: Policy) -> OpenTool | LockedTool:
    listing = Listing(KIT, ProviderUp(NOW), (Tool(own_tool("add"), spec(own_tool("add"), 0)),))
    found = resolve(build_catalogue([listing]), held, View(ME)).verdicts[own_tool("add")]
    assert isinstance(found, OpenTool | LockedTool)
    return found


def test_a_tool_that_its_manifest_hides_is_hidden_until_somebody_says_otherwise() -> None:
    add = own_tool("add")
    hiding = Override(ID, add, enabled=False)
    hidden = looked(manifest=hiding)
    found = verdict(hidden)
    assert isinstance(found, LockedTool)
    assert (found.reason, found.other_reasons) == (SwitchedOff(add, None, by_manifest=True), ())
    assert explain_reason(found.reason) == "kit:add is hidden by its toolset's override."
    assert isinstance(verdict(looked(manifest=hiding, declared=Override(ID, add, enabled=True))), OpenTool)
    assert isinstance(verdict(looked(manifest=hiding, person=Override(ID, Pattern("*", "*"), enabled=True))), OpenTool)
    switched = done(hidden, SetSwitch(add, enabled=True))
    assert isinstance(verdict(switched), OpenTool)
    assert isinstance(verdict(done(switched, SetSwitch(add, enabled=False))), LockedTool)


def test_what_a_file_hides_no_manifest_and_no_person_opens() -> None:
    add = own_tool("add")
    held = looked(
        manifest=Override(ID, add, enabled=True),
        declared=Override(ID, add, enabled=False),
        person=Override(ID, add, enabled=True),
    )
    found = verdict(held)
    assert isinstance(found, LockedTool)
    assert found.status.value == "disabled_by_config"


# --- what cannot be done ---------------------------------------------------------------------------------------------

KIT_DECLARED = DeclaredSettings(toolsets={ID: Toolset(ID, FILE)})


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (
            installing(own("add"), files=()),
            "Toolset 'kit' has no files, not even a toolset.yaml. Import the folder, ZIP or file that has it.",
        ),
        (
            installing(server(OTHER)),
            "Server other~other does not belong to toolset 'kit'. Name one and the same toolset.",
        ),
        (
            installing(replace(own("add"), connection=Stdio("x"))),
            "Toolset kit is reached in a way that is not its own: Stdio.",
        ),
        (installing(server(FETCH), server(FETCH, "b")), "Toolset 'kit' names kit~fetch twice."),
        (
            installing(own("add", commands=("add",))),
            "Toolset 'kit' has two tools of its own called 'add'. Rename one.",
        ),
        (
            installing(own("")),
            "'' cannot be the id of a tool or container of toolset 'kit'. Choose another in toolset.yaml.",
        ),
        (
            installing(own("add"), overrides=(Override(OTHER.toolset, Pattern("*", "*"), enabled=False),)),
            "The override of *:* is not of toolset 'kit': a manifest speaks of its own tools alone.",
        ),
        (
            installing(own("add"), overrides=(Override(ID, own_tool("add"), enabled=False),) * 2),
            "Toolset 'kit' has two overrides of ToolId kit:add. Make them one.",
        ),
        (installing(own("add"), files=(MANIFEST, MANIFEST)), "Toolset 'kit' has two files 'toolset.yaml'."),
        (
            installing(own("add"), approve=frozenset({ToolId(FETCH, "get")})),
            "mcp:kit~fetch:get is not a tool that toolset 'kit' brings itself, so it cannot be approved with it.",
        ),
        (
            replace(installing(), toolset=Toolset(ToolsetId("../up"), PERSON)),
            f"'../up' is not a toolset id: use {ID_RULE}.",
        ),
        (RemoveToolset(ToolsetId("kit")), "There is no toolset 'kit'. See: pegboard toolset list"),
    ],
    ids=lambda one: "" if isinstance(one, str) else type(one).__name__,
)
def test_what_cannot_be_imported_or_removed_is_refused_with_a_reason(command: Command, why: str) -> None:
    assert refused(policy(), command) == why


def test_a_command_of_a_container_that_is_not_there_is_refused() -> None:
    lost = own(commands=("grep",))
    assert isinstance(lost.connection, OwnTools)
    lost = replace(lost, connection=replace(lost.connection, containers={}))
    assert refused(policy(), installing(lost)) == (
        "Tool 'grep' of toolset 'kit' names container 'busybox', which is not there."
    )


def test_a_declared_toolset_and_one_made_by_hand_keep_their_ids() -> None:
    assert refused(policy(declared=KIT_DECLARED), installing(own("add"))) == (
        "Toolset 'kit' is declared at pegboard.yaml:7, and a declared toolset is the operator's. "
        "Give the one that you import another id, or take it out of the file."
    )
    assert refused(policy(declared=KIT_DECLARED), RemoveToolset(ID)) == (
        "Toolset 'kit' is declared at pegboard.yaml:7. Remove it there."
    )
    alone = key("kit~kit")
    by_hand = done(policy(), AddServer(server(alone), Toolset(ID, PERSON)))
    assert refused(by_hand, installing(own("add"))) == (
        "There is a toolset 'kit' already, installed by me, which was not imported: it holds kit~kit. "
        "Give the one that you import another id, or remove that one: pegboard toolset remove kit"
    )
    assert done(by_hand, RemoveToolset(ID)).decisions == PolicyDecisions(version=2)


def test_a_server_is_neither_added_to_an_imported_toolset_nor_taken_out_of_it() -> None:
    there = done(policy(), installing(own("add"), server(FETCH), contained()))
    assert refused(there, AddServer(server(key("kit~more")), Toolset(ID, PERSON))) == (
        "Toolset 'kit' was imported, and has what its toolset.yaml says. "
        "Choose another toolset, or add the server there and import it again: pegboard toolset import"
    )
    assert refused(there, RemoveServer(BOX)) == (
        "Server kit~box came with toolset 'kit'. Switch it off: pegboard servers disable kit~box   Or take "
        "it out of the toolset.yaml and import that again, or: pegboard toolset remove kit"
    )


def test_switching_an_imported_toolset_off_closes_what_it_brings_itself() -> None:
    there = done(policy(), installing(own("add"), approve=frozenset({own_tool("add")})))
    assert isinstance(verdict(there), OpenTool)
    off = replace(there, decisions=replace(there.decisions, switches={ID: OFF}))
    found = verdict(off)
    assert isinstance(found, LockedTool)
    assert found.status.value == "server_disabled"


def test_a_server_of_an_imported_toolset_is_a_server() -> None:
    there = done(policy(), installing(contained()))
    assert there.servers == {BOX: replace(contained(), origin=replace(PERSON, at=LATER))}
    assert isinstance(there.servers[BOX], Server)


def test_an_imported_toolset_that_a_file_declares_as_well_is_one_clash_with_the_way_out() -> None:
    there = done(policy(), installing(own("add"), server(FETCH)))
    declared = DeclaredSettings(servers={FETCH: replace(server(FETCH), origin=FILE)}, toolsets={ID: Toolset(ID, FILE)})
    assert [str(clash) for clash in id_clashes(declared, there.decisions)] == [
        "'kit' is declared at pegboard.yaml:7 and also installed by me. "
        "Rename it in the file, or run: pegboard toolset remove kit"
    ]
