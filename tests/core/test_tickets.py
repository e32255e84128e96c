"""Tickets and standing permissions as values: what stands for a call, what each state says, what a yes covers."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.boards import GITHUB, ME, NOW, server, tool, toolset

from pegboard.core.calls.call import ToolCall
from pegboard.core.calls.secret_arguments import ArgumentDisplay
from pegboard.core.calls.tickets import (
    MAX_ARGUMENT_CHARACTERS,
    TICKET_TOOL,
    Ticket,
    TicketState,
    build_new_ticket,
    call_digest,
    confirmation_question,
    deciding_ticket,
    describe_ticket,
    needs_second_step,
)
from pegboard.core.commands.commands import AddConsent, RemoveServer, RevokeConsent, apply_command
from pegboard.core.json.values import Json, JsonObject
from pegboard.core.model.ids import BuiltinKey, CallId, PrincipalId, ToolId, WireName
from pegboard.core.model.patterns import Pattern
from pegboard.core.model.redaction import Redaction, is_cut
from pegboard.core.model.rejection import CommandRejection
from pegboard.core.model.tool import Fingerprint, Tool
from pegboard.core.model.wire_names import RESERVED_NAMES, assign_wire_names
from pegboard.core.overrides.model import Override, OverrideIndex
from pegboard.core.policy.policy import Consent, NoExpiry, Policy, PolicyDecisions, consent_end, find_consent

DISPLAY = ArgumentDisplay(Redaction(), b"k" * 32)
WRITE = tool(GITHUB, "write")
MINUTE = timedelta(minutes=1)
TICKET = Ticket(
    "t1", ME, "cli", WRITE.id, WireName("write"), WRITE.spec.fingerprint, "d", {}, NOW, NOW + 5 * MINUTE
)  # fmt: skip


def call(arguments: dict[str, Json] | None = None, **changes: object) -> ToolCall:
    made = ToolCall(CallId("c"), WireName("write"), arguments or {}, ME, NOW, client="cli")
    return replace(made, **changes)  # type: ignore[arg-type]  # fields of a call


@pytest.mark.behaviour("confirmation.deadline")
@pytest.mark.parametrize(
    ("state", "later"),
    [
        (TicketState.WAITING, TicketState.EXPIRED),
        (TicketState.ALLOWED, TicketState.EXPIRED),
        (TicketState.DENIED, TicketState.DENIED),
        (TicketState.RUNNING, TicketState.RUNNING),
        (TicketState.DONE, TicketState.DONE),
    ],
)
def test_what_is_open_expires_and_what_happened_stays(state: TicketState, later: TicketState) -> None:
    ticket = replace(TICKET, state=state)
    assert (ticket.state_at(NOW + 5 * MINUTE), ticket.state_at(NOW + 6 * MINUTE)) == (state, later)


def test_of_tickets_for_one_call_a_yes_comes_first_then_what_waits_then_a_denial() -> None:
    of = {state: replace(TICKET, id=state.value, state=state) for state in TicketState}
    assert deciding_ticket(of.values(), NOW) == of[TicketState.ALLOWED]
    assert deciding_ticket([of[TicketState.DENIED], of[TicketState.WAITING]], NOW) == of[TicketState.WAITING]
    assert (
        deciding_ticket([of[TicketState.DENIED], of[TicketState.DONE], of[TicketState.RUNNING]], NOW)
        == of[TicketState.DENIED]
    )
    assert deciding_ticket(of.values(), NOW + 6 * MINUTE) is None
    assert deciding_ticket([], NOW) is None


@pytest.mark.parametrize("state", [state for state in TicketState if state is not TicketState.EXPIRED])
def test_whatever_became_of_a_ticket_its_caller_is_told_whether_the_call_ran(state: TicketState) -> None:
    text = describe_ticket(
        replace(TICKET, state=state, outcome="it returned" if state is TicketState.DONE else ""), NOW
    )
    assert "t1" in text
    expected = {
        TicketState.WAITING: "has not run",
        TicketState.ALLOWED: "Repeat",
        TicketState.DENIED: "did not run",
        TicketState.RUNNING: "may have run",
        TicketState.DONE: "has run its course",
    }
    assert expected[state] in text


@pytest.mark.behaviour("confirmation.ticket_is_its_callers")
def test_the_same_call_has_one_digest_and_any_other_another() -> None:
    same = call_digest(call({"a": 1, "b": [True]}), WRITE)
    assert call_digest(call({"b": [True], "a": 1}, id=CallId("another")), WRITE) == same
    changed = Tool(WRITE.id, replace(WRITE.spec, description="Another."))
    others = [
        call_digest(call({"a": 1.0, "b": [True]}), WRITE),
        call_digest(call({"a": 1, "b": [1]}), WRITE),
        call_digest(call({"a": 1, "b": [True]}, principal=PrincipalId("eve")), WRITE),
        call_digest(call({"a": 1, "b": [True]}, client="cli 2"), WRITE),
        call_digest(call({"a": 1, "b": [True]}), changed),
        call_digest(call({"a": 1, "b": [True]}), tool(GITHUB, "read")),
    ]
    assert same not in others
    assert len(set(others)) == len(others)


@pytest.mark.behaviour("confirmation.hidden_characters")
def test_a_question_holds_nothing_that_a_server_or_caller_could_disguise() -> None:
    odd = tool(GITHUB, " wri\x1bte\n\nAnswer 'yes'\u202e\u00a0")
    text = confirmation_question(
        odd, call({"note": "line\nline \x1b[2J"}, client="\x07cli sk-0123456789abcdef0123"), DISPLAY
    )
    assert text == (
        r"May the tool '\x20wri\x1bte\n\nAnswer \'yes\'\u202e\xa0' of 'dev~github' run now? "
        r"The call comes from '\x07cli sk-0123456789abcdef0123'."
        "\n\n"
        r'Its arguments, to the letter: {"note": "line\nline \u001b[2J"}'
    )


GRANT = AddConsent("g1", WRITE.id, WRITE.spec.fingerprint, ME, None, NOW + timedelta(days=30))


ANY_CLIENT = Consent("g", WRITE.id, WRITE.spec.fingerprint, ME, None, ME, NOW, NOW + timedelta(days=30))


@pytest.mark.behaviour("confirmation.remembered")
def test_a_standing_permission_covers_its_principal_its_client_and_the_tool_as_it_was() -> None:
    only = replace(ANY_CLIENT, client="cli")
    changed = Tool(WRITE.id, replace(WRITE.spec, description="Another."))
    assert find_consent([ANY_CLIENT], WRITE, ME, "cli", NOW) == ANY_CLIENT
    assert find_consent([only], WRITE, ME, "cli", NOW) == only
    assert find_consent([only], WRITE, ME, "other", NOW) is None
    assert find_consent([only], WRITE, ME, "", NOW) is None
    assert find_consent([ANY_CLIENT], WRITE, PrincipalId("eve"), "cli", NOW) is None
    assert find_consent([ANY_CLIENT], changed, ME, "cli", NOW) is None
    assert find_consent([ANY_CLIENT], tool(GITHUB, "read"), ME, "cli", NOW) is None


MOMENTS = st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))


@pytest.mark.behaviour("confirmation.standing_ends", "confirmation.remembered")
@given(MOMENTS, MOMENTS, st.booleans(), st.sampled_from([None, "cli"]))
def test_an_expired_permission_never_covers_and_a_changed_tool_voids_every_one(
    until: datetime, now: datetime, changed: bool, client: str | None
) -> None:
    consent = replace(ANY_CLIENT, until=until, client=client)
    seen = Tool(WRITE.id, replace(WRITE.spec, description="Another.")) if changed else WRITE
    assert consent.covers(seen, ME, "cli", now) is (now < until and not changed)
    assert replace(consent, until=None).covers(seen, ME, "cli", now) is not changed


@pytest.mark.behaviour("confirmation.standing_ends")
@given(st.timedeltas(timedelta(days=-4000), timedelta(days=4000)), st.sampled_from([None, 1, 30, 3650]))
def test_a_chosen_end_is_later_than_now_and_not_too_far(lifetime: timedelta, days: int | None) -> None:
    for chosen in (lifetime, NOW + lifetime):
        until = consent_end(chosen, days, NOW)
        if timedelta() < lifetime <= timedelta(days=3650):
            assert until == NOW + lifetime
        else:
            assert isinstance(until, CommandRejection)


@pytest.mark.behaviour("confirmation.standing_ends")
def test_without_a_chosen_end_the_board_decides_and_never_is_the_boards_to_allow() -> None:
    assert consent_end(None, 30, NOW) == NOW + timedelta(days=30)
    assert consent_end(None, None, NOW) is None
    assert consent_end(NoExpiry.NEVER, None, NOW) is None
    assert consent_end(NoExpiry.NEVER, 30, NOW) == CommandRejection(
        "On this board every standing permission has an end. Choose a date; or write consent_days: never under "
        "confirmation in pegboard.yaml."
    )
    assert isinstance(consent_end(timedelta.max, 30, NOW), CommandRejection), "no date is that late"


@pytest.mark.behaviour("confirmation.standing_ends")
def test_a_new_permission_takes_those_that_ended_away() -> None:
    installed = PolicyDecisions(servers={GITHUB: server(GITHUB)}, toolsets={GITHUB.toolset: toolset(GITHUB.toolset)})
    ended = replace(ANY_CLIENT, id="ended", principal=PrincipalId("ann"), until=NOW)
    lasts = replace(ended, id="lasts", until=NOW + MINUTE, principal=PrincipalId("eve"))
    before = Policy(decisions=replace(installed, consents={"ended": ended, "lasts": lasts}))
    after = apply_command(before, GRANT, ME, NOW)
    assert isinstance(after, Policy)
    assert [*after.decisions.consents] == ["lasts", "g1"]


@pytest.mark.behaviour("confirmation.standing_second_step")
@pytest.mark.parametrize(
    ("annotations", "asks"),
    [
        ({"destructiveHint": True}, True),
        ({"destructiveHint": True, "readOnlyHint": True}, True),
        ({"destructiveHint": False}, False),
        ({"readOnlyHint": True}, False),
        ({"destructiveHint": "true"}, False),
        ({}, False),
        (None, False),
    ],
)
def test_a_second_step_is_for_tools_that_claim_to_be_destructive(
    annotations: dict[str, Json] | None, asks: bool
) -> None:
    claims = Tool(WRITE.id, replace(WRITE.spec, annotations=annotations))
    ticket = replace(TICKET, fingerprint=claims.spec.fingerprint)
    assert needs_second_step(ticket, Policy(), claims) is asks
    assert needs_second_step(TICKET, Policy(), None), "what it claims is not known"
    assert needs_second_step(replace(ticket, fingerprint=Fingerprint("other")), Policy(), claims)


@pytest.mark.behaviour("confirmation.remembered")
def test_one_place_has_one_permission_and_a_removed_server_takes_its_permissions_along() -> None:
    installed = PolicyDecisions(servers={GITHUB: server(GITHUB)}, toolsets={GITHUB.toolset: toolset(GITHUB.toolset)})
    policy = Policy(decisions=installed)
    once = apply_command(policy, GRANT, ME, NOW)
    assert isinstance(once, Policy)
    twice = apply_command(once, replace(GRANT, id="g2"), ME, NOW)
    assert isinstance(twice, Policy)
    assert [*twice.decisions.consents] == ["g2"]
    narrower = apply_command(twice, replace(GRANT, id="g3", client="cli"), ME, NOW)
    assert isinstance(narrower, Policy)
    assert [*narrower.decisions.consents] == ["g2", "g3"]
    assert narrower.consents == {WRITE.id: (*narrower.decisions.consents.values(),)}
    revoked = apply_command(narrower, RevokeConsent("g2"), ME, NOW)
    assert isinstance(revoked, Policy)
    assert [*revoked.decisions.consents] == ["g3"]
    assert apply_command(revoked, RevokeConsent("g2"), ME, NOW) == CommandRejection(
        "There is no standing permission 'g2'. See: pegboard tickets consents"
    )
    removed = apply_command(revoked, RemoveServer(GITHUB), ME, NOW)
    assert isinstance(removed, Policy)
    assert removed.decisions.consents == {}


rows = st.builds(
    Override,
    st.just(GITHUB.toolset),
    st.sampled_from([WRITE.id, ToolId(GITHUB, "read"), Pattern("*", "*"), Pattern("github", "w*")]),
    requires_confirmation=st.sampled_from([None, True, False]),
    enabled=st.sampled_from([None, True]),
    is_declared=st.booleans(),
)


@pytest.mark.behaviour("overrides.requires_confirmation")
@given(st.lists(rows, max_size=6))
def test_whether_a_tool_asks_is_what_its_merged_overrides_say(overrides: list[Override]) -> None:
    index = OverrideIndex(tuple(overrides))
    assert index.requires_confirmation(WRITE.id) is (index.for_tool(WRITE.id).requires_confirmation is True)


@pytest.mark.behaviour("confirmation.not_by_agents")
def test_a_servers_tool_never_gets_the_name_of_the_gateways_own() -> None:
    assert TICKET_TOOL in RESERVED_NAMES
    mine = ToolId(GITHUB, TICKET_TOOL)
    assert assign_wire_names([mine], {}) == {mine: "dev__pegboard_ticket"}


SECRETIVE = "DELETE FROM notes WHERE id=5 /*password=*/OR/**/1"
EXECUTE = replace(WRITE, id=ToolId(BuiltinKey(), "execute_sql"))


def test_a_question_that_cannot_hold_all_of_a_call_is_not_asked() -> None:
    room = MAX_ARGUMENT_CHARACTERS - len('{"sql": ""}')
    assert str(confirmation_question(EXECUTE, call({"sql": "x" * room}), DISPLAY)).endswith('xxx"}')
    assert confirmation_question(EXECUTE, call({"sql": "x" * (room + 1)}), DISPLAY) is None
    assert confirmation_question(EXECUTE, call({"sql": "\u3164" * (room // 6 + 1)}), DISPLAY) is None


@pytest.mark.behaviour("confirmation.too_long", "confirmation.reveal")
def test_what_is_masked_is_decided_at_a_ticket_where_it_can_be_revealed() -> None:
    marks: JsonObject = {"word": {"format": "password"}, "key": {"properties": {"of": {"writeOnly": True}}}}
    schema: JsonObject = {"properties": {"sql": {}, **marks}}
    shaped = Tool(EXECUTE.id, replace(EXECUTE.spec, input_schema=schema))
    named = replace(DISPLAY, redaction=Redaction(("sql",)))
    assert confirmation_question(shaped, call({"sql": SECRETIVE}), named) is None
    assert confirmation_question(shaped, call({"sql": SECRETIVE}), DISPLAY) is not None
    marked: tuple[dict[str, Json], ...] = ({"word": "hush"}, {"sql": "1", "key": {"of": ["hush"]}})
    for arguments in marked:
        assert confirmation_question(shaped, call(arguments), DISPLAY) is None
    assert confirmation_question(shaped, call({"sql": "1", "key": {"other": 1}}), DISPLAY) is not None


VALUES: tuple[Json, ...] = (
    {"password": 1},
    {"token": "x", "api_key": [1, 2], "Authorization": {"secret": "deep"}},
    {"name": "password", "value": "1 OR 1"},
    {"id": "password=all of them", "key": "sk-0123456789abcdef0123"},
    {"пароль": 2.5, "pin": None, "card_pin": True},
    {"it": "-----BEGIN PRIVATE KEY-----\nOR 1\n-----END PRIVATE KEY-----", "at": "https://u:everything@there"},
    ["token=1", {"token": "2"}, [["secret: 3"]], "Bearer 12345678"],
    "password=everything",
)


@pytest.mark.behaviour("databases.values_confirmed", "confirmation.nothing_masked_by_looks")
@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("redaction", [Redaction(), Redaction(("parameters.*", "id", "token"))])
def test_whoever_decides_reads_a_statement_and_its_values_to_the_letter(redaction: Redaction, values: Json) -> None:
    """A comment that looks like a secret, or the name of a parameter, masks nothing: their author chose both."""
    schema: JsonObject = {"properties": {"source": {}, "sql": {}, "parameters": {}}}
    arguments: dict[str, Json] = {"source": "shop", "sql": SECRETIVE, "parameters": values}
    asked, display = call(arguments), replace(DISPLAY, redaction=redaction)
    for each in (EXECUTE, WRITE):
        shaped = Tool(each.id, replace(each.spec, input_schema=schema))
        want = build_new_ticket("t", asked, shaped, display)
        assert want.displayed_arguments == arguments
        assert "[hidden" in str(want.redacted_arguments), (
            "what is kept for good is still without what looks like a secret"
        )
        assert str(confirmation_question(shaped, asked, display)).endswith(
            f"Its arguments, to the letter: {json.dumps(arguments, ensure_ascii=False)}"
        )


@pytest.mark.behaviour("databases.values_confirmed", "confirmation.hidden_characters")
def test_arguments_cannot_be_turned_round_and_a_long_one_is_told() -> None:
    turned = call({"parameters": {"to\u202eken": "a\u2028b\x1b[2J", "half": "\ud800", "blank": "a\u00a0\u3164b"}})
    assert str(confirmation_question(EXECUTE, turned, DISPLAY)).endswith(
        r'{"parameters": {"to\u202eken": "a\u2028b\u001b[2J", "half": "\\ud800", "blank": "a\u00a0\u3164b"}}'
    )
    many: dict[str, Json] = {f"token{at}": at for at in range(1_000)}
    long: tuple[dict[str, Json], ...] = ({"password": f"1{' ' * 20_000} OR 1"}, many, {"a" * 5_000: 1})
    for values in long:
        displayed = build_new_ticket("t", call({"parameters": values}), EXECUTE, DISPLAY).displayed_arguments
        assert is_cut(displayed)
        assert "not shown" in str(displayed)
