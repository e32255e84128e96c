"""Decisions in the words of the audit: enough to know what happened, and nothing that is a secret."""

from dataclasses import replace
from datetime import datetime

import pytest
from tests.core.boards import FILE, GITHUB, ME, PERSON, key, server, toolset
from tests.core.imports import FETCH, installing, own, own_tool
from tests.core.imports import server as kit_server
from tests.support.collect_failures import each_case

from pegboard.core.calls.activity import KINDS
from pegboard.core.commands.base import Command, DecisionSummary
from pegboard.core.commands.commands import (
    AddServer,
    ApproveTool,
    ApproveTools,
    BlockTool,
    EditOverride,
    ReleaseServer,
    RemoveServer,
    SetGrants,
    SetOverride,
    SetSwitch,
    SetToolSwitches,
    SetTrust,
    TakeBaseline,
)
from pegboard.core.commands.toolset_install import RecordSecretChange, RemoveToolset
from pegboard.core.explain.what_if import MAX_CHANGES, describe_settings_changes
from pegboard.core.model.ids import PrincipalId, ToolId, ToolsetId
from pegboard.core.model.patterns import Pattern
from pegboard.core.model.principals import Principal
from pegboard.core.model.selection import Selection, TheseToolsets
from pegboard.core.model.server import AllButTools, DeclaredAt, Http, Stdio, Timeouts, Trust
from pegboard.core.model.tool import ToolSpec
from pegboard.core.model.toolset import Toolset
from pegboard.core.overrides.model import ArgumentOverride, Override, OverrideEdit, freeze_json
from pegboard.core.policy.policy import DeclaredSettings, Denial, Policy, PolicyDecisions

SEARCH = ToolId(GITHUB, "search")
SPEC = ToolSpec("search", "Finds things.")
AS_READ = f"{SEARCH} as {SPEC.fingerprint[:12]}"
SECRET = "hunter2"
DEV = ToolsetId("dev")


@pytest.mark.behaviour("audit.decisions")
@each_case(
    ("command", "words"),
    [
        (
            AddServer(server(GITHUB, connection=Stdio(SECRET, (SECRET,), {"TOKEN": SECRET})), toolset("dev")),
            DecisionSummary("server", "dev~github", "added, started as a program, trust baseline"),
        ),
        (
            AddServer(
                server(GITHUB, connection=Http(f"https://x/?key={SECRET}"), trust=Trust.STRICT), Toolset(DEV, PERSON)
            ),
            DecisionSummary("server", "dev~github", "added, reached by http, trust strict"),
        ),
        (
            installing(own("add", "sum"), kit_server(FETCH), approve=frozenset({own_tool("add")})),
            DecisionSummary(
                "toolset", "kit", "imported 1.0 with 2 tools of its own and 1 server; 1 tool approved as read"
            ),
        ),
        (
            RemoveToolset(DEV),
            DecisionSummary("toolset", "dev", "removed with its tools, servers, switches and approvals"),
        ),
        (RecordSecretChange(DEV, "API_KEY", is_set=True), DecisionSummary("secret", "dev", "set the secret API_KEY")),
        (
            RecordSecretChange(DEV, "API_KEY", is_set=False),
            DecisionSummary("secret", "dev", "forgot the secret API_KEY"),
        ),
        (RemoveServer(GITHUB), DecisionSummary("server", "dev~github", "removed with its switches and approvals")),
        (SetSwitch(SEARCH, enabled=True), DecisionSummary("switch", "mcp:dev~github:search", "switched on")),
        (SetSwitch(GITHUB, False, "noisy"), DecisionSummary("switch", "dev~github", "switched off: noisy")),
        (SetSwitch(DEV, False), DecisionSummary("switch", "dev", "switched off")),
        (
            SetToolSwitches((SEARCH,), enabled=True),
            DecisionSummary("switch", "dev~github", "1 tool switched on (mcp:dev~github:search)"),
        ),
        (
            SetToolSwitches((SEARCH, replace(SEARCH, source=key("a~a"))), False, "noisy"),
            DecisionSummary("switch", None, "2 tools switched off: noisy (mcp:dev~github:search, mcp:a~a:search)"),
        ),
        (
            SetToolSwitches((SEARCH,) * 1_020, enabled=False),
            DecisionSummary(
                "switch", "dev~github", f"1020 tools switched off ({', '.join([str(SEARCH)] * 20)} and 1,000 more)"
            ),
        ),
        (
            ApproveTool(SEARCH, SPEC, SPEC.fingerprint),
            DecisionSummary("approval", "mcp:dev~github:search", f"approved as {SPEC.fingerprint[:12]}"),
        ),
        (
            ApproveTools((ApproveTool(SEARCH, SPEC, SPEC.fingerprint),) * 2),
            DecisionSummary("approval", "dev~github", f"2 tools approved: {', '.join([AS_READ] * 2)}"),
        ),
        (
            ApproveTools((ApproveTool(SEARCH, SPEC, SPEC.fingerprint),) * 30),
            DecisionSummary("approval", "dev~github", f"30 tools approved: {', '.join([AS_READ] * 20)} and 10 more"),
        ),
        (
            ApproveTools(
                tuple(ApproveTool(replace(SEARCH, source=key(each)), SPEC, SPEC.fingerprint) for each in ("a~a", "b~b"))
            ),
            DecisionSummary(
                "approval",
                None,
                f"2 tools approved: {', '.join(AS_READ.replace('dev~github', each) for each in ('a~a', 'b~b'))}",
            ),
        ),
        (BlockTool(SEARCH), DecisionSummary("block", "mcp:dev~github:search", "blocked at its review")),
        (BlockTool(SEARCH, "no"), DecisionSummary("block", "mcp:dev~github:search", "blocked at its review: no")),
        (ReleaseServer(GITHUB), DecisionSummary("server", "dev~github", "released from quarantine")),
        (
            AddServer(server(GITHUB, connection=Stdio("x"), quarantined=True), toolset("dev")),
            DecisionSummary("server", "dev~github", "added, started as a program, trust baseline, in quarantine"),
        ),
        (
            TakeBaseline(GITHUB, {SEARCH: SPEC}),
            DecisionSummary("first_sight", "dev~github", "1 tool approved at first sight"),
        ),
        (TakeBaseline(GITHUB, {}), DecisionSummary("first_sight", "dev~github", "0 tools approved at first sight")),
        (SetTrust(GITHUB, Trust.STRICT), DecisionSummary("trust", "dev~github", "trust strict")),
        (
            SetOverride(
                Override(DEV, SEARCH, description_override=SECRET, renderer_config={"a": SECRET}, enabled=False)
            ),
            DecisionSummary("override", "mcp:dev~github:search", "sets renderer_config, description_override, enabled"),
        ),
        (SetOverride(Override(DEV, Pattern("dev", "*"))), DecisionSummary("override", "dev:*", "cleared")),
        (
            EditOverride(
                OverrideEdit(
                    Override(
                        DEV, SEARCH, renderer=SECRET, arguments={"path": ArgumentOverride(pin=freeze_json(SECRET))}
                    ),
                    frozenset({"enabled", "arguments.limit"}),
                )
            ),
            DecisionSummary(
                "override", "mcp:dev~github:search", "sets renderer, arguments.path; clears arguments.limit, enabled"
            ),
        ),
        (SetGrants(PrincipalId("bob"), frozenset({DEV})), DecisionSummary("grant", None, "bob may use: dev")),
        (SetGrants(PrincipalId("bob"), frozenset()), DecisionSummary("grant", None, "bob may use: nothing")),
        (SetGrants(PrincipalId("bob"), None), DecisionSummary("grant", None, "bob may use: no limit")),
    ],
)
def test_every_command_has_its_kind_its_subject_and_its_words_without_secrets(
    command: Command, words: DecisionSummary
) -> None:
    assert command.describe() == words
    assert words.kind in KINDS
    assert SECRET not in str(command.describe())


def test_a_command_that_does_not_say_how_it_is_told_cannot_be_given() -> None:
    class ApplyNothing(Command):
        def apply(self, policy: Policy, by: PrincipalId, at: datetime) -> PolicyDecisions:
            return policy.decisions

    with pytest.raises(TypeError, match="describe"):
        ApplyNothing()  # type: ignore[abstract]


def board(**changes: object) -> DeclaredSettings:
    plain = DeclaredSettings({GITHUB: server(GITHUB)}, {DEV: toolset("dev")})
    return replace(plain, **changes)  # type: ignore[arg-type]  # each test names fields of it


MOVED = DeclaredAt("pegboard.yaml", 99)
BOB = PrincipalId("bob")


@pytest.mark.behaviour("audit.config_changes")
@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (board(), board(), ()),
        (board(), board(servers={GITHUB: replace(server(GITHUB), origin=MOVED)}), ()),
        (
            board(),
            board(servers={key("docs~notes"): server(key("docs~notes"))}),
            ("server docs~notes added", "server dev~github removed"),
        ),
        (
            board(),
            board(
                servers={
                    GITHUB: replace(
                        server(GITHUB),
                        connection=Stdio(SECRET),
                        trust=Trust.STRICT,
                        enabled=False,
                        limit=AllButTools(("x",)),
                        timeouts=Timeouts(call=1),
                    )
                }
            ),
            ("server dev~github: connection, enabled, trust, tools, timeouts changed",),
        ),
        (board(), board(selection=Selection(TheseToolsets(("dev",)))), ("selection changed",)),
        (
            board(denials=(Denial(Pattern("dev", "a*"), FILE), Denial(Pattern("dev", "b"), FILE))),
            board(denials=(Denial(Pattern("dev", "b"), MOVED), Denial(Pattern("*", "c"), FILE))),
            ("deny *:c added", "deny dev:a* removed"),
        ),
        (
            board(
                overrides=(
                    Override(DEV, SEARCH, renderer="json"),
                    Override(DEV, Pattern("dev", "x"), renderer="a"),
                    Override(DEV, Pattern("dev", "z"), renderer="a", origins={"renderer": DeclaredAt("a", 1)}),
                )
            ),
            board(
                overrides=(
                    Override(DEV, SEARCH, renderer=SECRET),
                    Override(DEV, Pattern("dev", "y"), renderer="a"),
                    Override(DEV, Pattern("dev", "z"), renderer="a", origins={"renderer": DeclaredAt("a", 2)}),
                )
            ),
            (
                "override of dev:y in dev added",
                "override of dev:x in dev removed",
                "override of mcp:dev~github:search in dev changed",
            ),
        ),
        (
            board(grants={BOB: frozenset({DEV})}, principals={BOB: Principal(BOB, FILE, (b"1",))}),
            board(grants={BOB: frozenset()}, principals={BOB: Principal(BOB, FILE, (b"2",)), ME: Principal(ME, FILE)}),
            ("grant to bob: toolsets changed", "principal me added", "principal bob: token changed"),
        ),
    ],
)
def test_an_edit_is_told_by_what_it_changed_and_never_by_the_values(
    before: DeclaredSettings, after: DeclaredSettings, words: tuple[str, ...]
) -> None:
    assert describe_settings_changes(before, after) == words


def test_a_file_that_was_rewritten_is_told_by_its_first_changes_and_a_count() -> None:
    many = {key(f"dev~s{number}"): server(key(f"dev~s{number}")) for number in range(100)}
    told = describe_settings_changes(board(), board(servers={**many, GITHUB: server(GITHUB)}))
    assert (len(told), told[-1]) == (MAX_CHANGES + 1, f"and {100 - MAX_CHANGES} more")
