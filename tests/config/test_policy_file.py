"""What people decided goes into one text and comes out of it the same, without a secret; what is wrong is told."""

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import assume, given
from tests.core.boards import FILE, ME, NOW, PERSON, Board, boards, key, server, tool, toolset, views

from pegboard.config.policy_file import UnreadablePolicy, policy_text, read_policy
from pegboard.core.commands.commands import apply_command
from pegboard.core.commands.transfer import (
    DecisionDifference,
    PolicyExport,
    ReplaceDecisions,
    decision_differences,
    describe_left_out,
    policy_export,
)
from pegboard.core.decision.resolve import resolve
from pegboard.core.model.confirmation import ConfirmationMode, PrincipalConfirmation
from pegboard.core.model.ids import (
    LOCAL_PRINCIPAL,
    BuiltinKey,
    PrincipalId,
    ProviderKey,
    ServerKey,
    ToolsetId,
    parse_tool_id,
)
from pegboard.core.model.patterns import Pattern
from pegboard.core.model.rejection import CommandRejection
from pegboard.core.model.selection import View
from pegboard.core.model.server import (
    EveryTool,
    Http,
    NoOAuth,
    OAuth,
    OnlyTools,
    ProtocolMode,
    Server,
    StartOnDemand,
    Stdio,
    Timeouts,
    Transport,
    Trust,
)
from pegboard.core.overrides.model import ArgumentOverride, Override, freeze_json
from pegboard.core.policy.policy import Approval, Consent, Policy, PolicyDecisions, Switch

GITHUB = key("dev~github")
READ = tool(GITHUB, "read")
SECRET = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"


def read(text: str) -> PolicyExport:
    found = read_policy(text, ME, NOW)
    assert not isinstance(found, UnreadablePolicy), found
    return found


def installed(board: Board) -> Policy:
    """The same board with its servers installed by a person, and not declared."""
    declared, decided = board.policy.declared, board.policy.decisions
    servers: dict[ProviderKey, Server] = {
        id: replace(
            each, origin=PERSON, limit=each.limit if isinstance(each.limit, EveryTool) else replace(each.limit, at=None)
        )
        for id, each in declared.servers.items()
        if isinstance(id, ServerKey)
    }
    owners = {id.toolset for id in servers} - {id.toolset for id in declared.servers if not isinstance(id, ServerKey)}
    toolsets = {id: replace(each, origin=PERSON) for id, each in declared.toolsets.items() if id in owners}
    return Policy(
        replace(
            declared,
            servers={id: each for id, each in declared.servers.items() if id not in servers},
            toolsets={id: each for id, each in declared.toolsets.items() if id not in owners},
        ),
        replace(decided, servers={**decided.servers, **servers}, toolsets={**decided.toolsets, **toolsets}),
    )


def unsigned(said: PolicyExport) -> PolicyExport:
    return replace(said, overrides=tuple(replace(row, origins={}) for row in said.overrides))


@pytest.mark.behaviour("policy.round_trip")
@given(boards(), views)
def test_an_empty_board_that_takes_an_exported_policy_judges_alike(board: Board, view: View) -> None:
    # A built-in has one of a few plain names; of one that is drawn otherwise, its text would tell another tool.
    assume(all(parse_tool_id(str(id)) == id for id in board.catalogue.tools))
    before = installed(board)
    taken = read(policy_text(policy_export(before.decisions)).text)
    assert unsigned(taken) == unsigned(policy_export(before.decisions))
    # What manifests say comes with their toolsets, and decisions about what is nobody's stay behind.
    empty = Policy(before.declared, PolicyDecisions(manifest_overrides=before.decisions.manifest_overrides))
    after = apply_command(empty, ReplaceDecisions(taken), ME, NOW)
    assert not isinstance(after, CommandRejection), after
    then, now = resolve(board.catalogue, after, view).verdicts, resolve(board.catalogue, before, view).verdicts
    owned = [id for id in now if isinstance(id.source, BuiltinKey) or id.source in before.servers]
    assert {id: then[id] for id in owned} == {id: now[id] for id in owned}


EVERYTHING = PolicyExport(
    servers={
        GITHUB: server(
            GITHUB,
            origin=PERSON,
            connection=Stdio("npx", ("-y", "x", "${HOME}"), {"LEVEL": "info", "OWN": "${OWN}"}, "/srv"),
            trust=Trust.STRICT,
            limit=OnlyTools(("read", "wr*")),
            timeouts=Timeouts(1.5, 20, 3),
            starts=StartOnDemand(60),
            protocol=ProtocolMode.HANDSHAKE,
            quarantined=True,
        ),
        key("dev~site"): server(
            key("dev~site"),
            origin=PERSON,
            enabled=False,
            connection=Http(
                "https://h/mcp", Transport.SSE, {"X-Team": "${TEAM}"}, OAuth("id", "${S}", None, ("a", "b"))
            ),
        ),
        key("dev~plain"): server(key("dev~plain"), origin=PERSON, connection=Http("https://h/mcp", oauth=NoOAuth())),
    },
    toolsets={ToolsetId("dev"): replace(toolset("dev"), origin=PERSON, name="Dev", enabled=False)},
    switches={
        READ.id: Switch(False, ME, NOW, "no", blocks=True),
        GITHUB: Switch(True, ME, NOW),
        ToolsetId("dev"): Switch(False, PrincipalId("Zoë"), NOW, "später"),
    },
    approvals={READ.id: Approval(READ.spec, ME, NOW, first_sight=True)},
    first_seen={GITHUB: NOW},
    overrides=(
        Override(
            ToolsetId("dev"),
            READ.id,
            name_override="Read",
            enabled=False,
            arguments={
                "path": ArgumentOverride(pin=freeze_json("/srv")),
                "n": ArgumentOverride(default=freeze_json(1.0), description="how many"),
            },
            origins=dict.fromkeys(("name_override", "enabled", "arguments.path", "arguments.n"), PERSON),
        ),
        Override(
            ToolsetId("dev"),
            Pattern("*", "wr*"),
            requires_confirmation=True,
            confirmation=ConfirmationMode.TICKET,
            origins={"requires_confirmation": PERSON, "confirmation": PERSON},
        ),
    ),
    trust={GITHUB: Trust.BASELINE},
    grants={PrincipalId("ann"): frozenset({ToolsetId("dev")}), PrincipalId("nobody"): frozenset()},
    consents={
        "c1": Consent("c1", READ.id, READ.spec.fingerprint, ME, "a client", ME, NOW, NOW + timedelta(days=7)),
        "c2": Consent("c2", READ.id, READ.spec.fingerprint, ME, None, ME, NOW, None),
    },
    confirmations={
        LOCAL_PRINCIPAL: PrincipalConfirmation(False, ConfirmationMode.TICKET, PERSON, PERSON),
        PrincipalId("ann"): PrincipalConfirmation(mode=ConfirmationMode.TICKET, mode_at=PERSON),
        PrincipalId("bob"): PrincipalConfirmation(interactive=False, interactive_at=PERSON),
    },
)


@pytest.mark.behaviour("policy.round_trip")
def test_everything_that_can_be_decided_comes_back_as_it_was() -> None:
    assert read(policy_text(EVERYTHING).text) == EVERYTHING


@pytest.mark.behaviour("confirmation.standing_ends")
def test_a_standing_permission_of_a_file_that_names_no_end_ends_30_days_after_it_was_given() -> None:
    document = json.loads(policy_text(EVERYTHING).text)
    for entry in document["remembered"]:
        del entry["until"]
    found = read(json.dumps(document))
    assert isinstance(found, PolicyExport)
    assert {consent.until for consent in found.consents.values()} == {NOW + timedelta(days=30)}


@pytest.mark.behaviour("confirmation.standing_ends")
def test_a_standing_permission_of_a_file_lasts_ten_years_at_most() -> None:
    document = json.loads(policy_text(EVERYTHING).text)
    longest = NOW + timedelta(days=3650)
    document["remembered"][0]["until"] = longest.isoformat()
    assert read(json.dumps(document)).consents["c1"].until == longest
    for until in ((longest + timedelta(seconds=1)).isoformat(), "9999-12-31T23:59:59+00:00"):
        document["remembered"][0]["until"] = until
        wrong = "remembered[0]: until: a standing permission lasts 3650 days at most. Choose an earlier end."
        assert read_policy(json.dumps(document), ME, NOW) == UnreadablePolicy((wrong,))
    # Given in the future, it says: its end counts from the import.
    del document["remembered"][0]["until"]
    document["remembered"][0]["at"] = "9999-12-31T23:59:59+00:00"
    assert read(json.dumps(document)).consents["c1"].until == NOW + timedelta(days=30)


@pytest.mark.behaviour("policy.strict_confirmation")
def test_how_a_principal_confirms_travels_where_it_restricts_and_loosens_nothing() -> None:
    ann, bob, carol = map(PrincipalId, ("ann", "bob", "carol"))
    ticket, in_client = ConfirmationMode.TICKET, ConfirmationMode.IN_CLIENT
    here = PolicyDecisions(
        confirmations={
            LOCAL_PRINCIPAL: PrincipalConfirmation(False, ticket),
            ann: PrincipalConfirmation(True, ticket),
            bob: PrincipalConfirmation(True, in_client),
        }
    )
    strict = {LOCAL_PRINCIPAL: PrincipalConfirmation(False, ticket), ann: PrincipalConfirmation(mode=ticket)}
    said = read(policy_text(policy_export(here)).text)
    assert said.confirmations == strict
    there = PolicyDecisions(
        confirmations={
            LOCAL_PRINCIPAL: PrincipalConfirmation(True, in_client),
            bob: PrincipalConfirmation(True, in_client),
            carol: PrincipalConfirmation(False, ticket),
        }
    )
    done = apply_command(Policy(decisions=there), ReplaceDecisions(said), ME, NOW)
    assert isinstance(done, Policy)
    assert done.decisions.confirmations == {**there.confirmations, **strict}
    assert [*decision_differences(policy_export(there), policy_export(done.decisions))] == [
        DecisionDifference("confirmations", ("ann", "local"), (), ()),
    ]


@pytest.mark.behaviour("policy.without_secrets")
def test_no_secret_is_in_the_text_and_what_must_be_set_is_told() -> None:
    program = server(GITHUB, origin=PERSON, connection=Stdio("x", ("--token", SECRET), {"TOKEN": SECRET}))
    address = Http(
        f"https://me:{SECRET}@h/mcp", headers={"Authorization": f"Bearer {SECRET}"}, oauth=OAuth("i", SECRET)
    )
    pinned = Override(ToolsetId("dev"), READ.id, arguments={"token": ArgumentOverride(pin=freeze_json(SECRET))})
    site = key("dev~site")
    written = policy_text(
        PolicyExport(
            {GITHUB: program, site: server(site, origin=PERSON, connection=address)},
            {ToolsetId("dev"): replace(toolset("dev"), origin=PERSON)},
            overrides=(pinned,),
        )
    )
    assert SECRET not in written.text
    assert {place for places in written.secrets.values() for place in places} == {
        "github: args[1]",
        "github: env.TOKEN",
        "site: url",
        "site: headers.Authorization",
        "site: oauth.client_secret",
        "mcp:dev~github:read: arguments.token.pin",
    }
    connection = read(written.text).servers[GITHUB].connection
    assert isinstance(connection, Stdio)
    assert connection.env["TOKEN"].startswith("${")


@pytest.mark.behaviour("policy.approvals_name_what_was_read")
def test_an_approval_whose_fingerprint_is_another_than_its_specs_is_refused() -> None:
    whole = json.loads(policy_text(EVERYTHING).text)
    whole["approvals"][0]["spec"]["description"] = "Something nobody has read."
    told = "approvals[0]: the fingerprint is not that of the spec beside it, so it is not known what was read."
    assert read_policy(json.dumps(whole), ME, NOW) == UnreadablePolicy((told,))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"switchs": []}, "switchs: this is unknown here. Remove it."),
        ({"switches": {}}, "switches: this must be a list."),
        ({"switches": [7]}, "switches[0]: this must be a map."),
        ({"switches": [{"on": True}]}, "switches[0]: this names one tool, server or toolset. Write one of these keys."),
        ({"switches": [{"server": "a~b"}]}, "switches[0]: on: this is missing."),
        ({"switches": [{"server": "a~b", "on": "yes"}]}, "switches[0]: on: this must be true or false."),
        ({"switches": [{"tool": "mcp:a:b", "on": True}]}, "switches[0]: 'mcp:a:b' does not say its toolset. Write"),
        ({"trust": {"a~b": "blind"}}, "trust.a~b: this must be 'open', 'baseline' or 'strict'."),
        ({"first_sights": {"a~b": "yesterday"}}, "first_sights.a~b: this is no moment."),
        ({"servers": {"dev~x": {}}}, "servers.dev~x: servers.x: this needs command or url. Write one of them."),
        ({"servers": {"x": {"command": "y"}}}, "servers.x: "),
        ({"grants": {"ann": "dev"}}, "grants.ann: this must be a list of toolsets."),
        ({"grants": {"an\u3164n": ["dev"]}}, "grants.an\u3164n: 'an\\u3164n' is no name of a principal:"),
        ({"switches": [{"server": "a~b", "on": True, "by": "an\u2800n"}]}, "switches[0]: 'an\\u2800n' is no name of"),
        ({"overrides": [{"toolset": "dev", "pattern": "*:*", "says": {}}]}, "overrides[0]: this says nothing."),
        (
            {"confirmations": {"ann": {"interactive": True}}},
            "confirmations.ann: interactive: only false is imported. Mark it here: pegboard grants confirmation ann",
        ),
        ({"confirmations": {"ann": {"mode": "in_client"}}}, "confirmations.ann: mode: only 'ticket' is imported."),
        ({"confirmations": {"ann": {}}}, "confirmations.ann: this says nothing. Write mode: ticket, or interactive:"),
        ({"approvals": [{"tool": "mcp:a~b:c", "spec": {}}]}, "approvals[0]: spec: this must hold name, title,"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(change: dict[str, Any], told: str) -> None:
    found = read_policy(json.dumps({"pegboard_policy": 1, **change}), ME, NOW)
    assert isinstance(found, UnreadablePolicy)
    assert found.problems[0].startswith(told)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"pegboard_policy": 2}', "[" * 100_000, "servers: {}"])
def test_what_is_no_policy_is_told(text: str) -> None:
    assert isinstance(read_policy(text, ME, NOW), UnreadablePolicy)


@pytest.mark.behaviour("confirmation.standing_ends", "policy.all_or_nothing")
def test_an_imported_standing_permission_has_no_end_only_where_the_board_allows_it() -> None:
    endless = Policy()
    endless = replace(endless, declared=replace(endless.declared, consent_days=None))
    taken = apply_command(endless, ReplaceDecisions(EVERYTHING), ME, NOW)
    assert isinstance(taken, Policy)
    refused = apply_command(Policy(), ReplaceDecisions(EVERYTHING), ME, NOW)
    assert isinstance(refused, CommandRejection)
    assert refused.why.startswith("Standing permission c2 has no end, and on this board each has one.")
    # What the board has already is no new permission: its own export can be imported.
    later = replace(taken, declared=Policy().declared)
    assert isinstance(apply_command(later, ReplaceDecisions(policy_export(later.decisions)), ME, NOW), Policy)


@pytest.mark.behaviour("policy.all_or_nothing")
def test_decisions_about_what_is_not_here_are_left_out_and_told() -> None:
    said = replace(EVERYTHING, servers={}, toolsets={}, consents={}, trust={}, first_seen={})
    done = apply_command(Policy(decisions=PolicyDecisions(version=4)), ReplaceDecisions(said), ME, NOW)
    assert isinstance(done, Policy)
    assert done.decisions == PolicyDecisions(
        version=5, grants=EVERYTHING.grants, confirmations=EVERYTHING.confirmations
    )
    assert [*describe_left_out(Policy(), said)] == [
        "The switch of mcp:dev~github:read is left out: there is no server dev~github here. Add it first to keep it.",
        "The switch of dev~github is left out: there is no server dev~github here. Add it first to keep it.",
        "The switch of dev is left out: there is no toolset 'dev' here. Import it first to keep it.",
        "The approval of mcp:dev~github:read is left out: there is no server dev~github here. Add it first to keep it.",
        "The override of mcp:dev~github:read is left out: there is no toolset 'dev' here. Import it first to keep it.",
        "The override of *:wr* is left out: there is no toolset 'dev' here. Import it first to keep it.",
    ]


@pytest.mark.behaviour("policy.all_or_nothing")
def test_a_server_that_a_file_declares_is_not_brought_a_second_time() -> None:
    own = server(GITHUB, origin=FILE)
    policy = Policy()
    policy = replace(policy, declared=replace(policy.declared, servers={GITHUB: own}))
    done = apply_command(policy, ReplaceDecisions(PolicyExport(EVERYTHING.servers, EVERYTHING.toolsets)), ME, NOW)
    assert isinstance(done, CommandRejection)
    assert done.why == "Server dev~github is declared at pegboard.yaml:7. Take it out of one of both files."
