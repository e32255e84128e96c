"""How a call that must be confirmed is confirmed: the strictest setting wins, and only interactive clients count."""

from dataclasses import replace
from datetime import UTC, datetime
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.boards import ME, NOW, key, server, tool, toolset

from pegboard.core.commands.access import MakeToken, RemovePrincipal, SetPrincipalConfirmation
from pegboard.core.commands.commands import SetOverride, apply_command
from pegboard.core.model.confirmation import (
    ConfirmationLevel,
    ConfirmationMode,
    ConfirmationSetting,
    ConfirmByTicket,
    ConfirmInClient,
    InteractiveMark,
    PrincipalConfirmation,
    choose_route,
    describe_route,
)
from pegboard.core.model.ids import LOCAL_PRINCIPAL, PrincipalId
from pegboard.core.model.patterns import Pattern
from pegboard.core.model.principals import ApiToken, Principal, TokenScope
from pegboard.core.model.rejection import CommandRejection
from pegboard.core.model.server import DeclaredAt, InstalledBy
from pegboard.core.overrides.model import Override
from pegboard.core.policy.policy import DeclaredSettings, Policy, PolicyDecisions

GITHUB = key("dev~github")
DELETE = tool(GITHUB, "delete").id
ALICE, BOB = PrincipalId("alice"), PrincipalId("bob")
AT = DeclaredAt("pegboard.yaml", 7)
MODES = (None, ConfirmationMode.IN_CLIENT, ConfirmationMode.TICKET)
TICKET = ConfirmationMode.TICKET


def alice(**said: object) -> Principal:
    return Principal(ALICE, AT, (b"x",), confirmation=PrincipalConfirmation(**said))  # type: ignore[arg-type]


def policy_of(
    board: ConfirmationMode | None, principal: ConfirmationMode | None, own: ConfirmationMode | None
) -> Policy:
    said = None if board is None else ConfirmationSetting(ConfirmationLevel.BOARD, "", board, AT)
    rows = () if own is None else (Override(GITHUB.toolset, DELETE, confirmation=own, is_declared=True),)
    return Policy(
        DeclaredSettings(confirmation=said, overrides=rows, principals={ALICE: alice(interactive=True, mode=principal)})
    )


@pytest.mark.behaviour("confirmation.modes")
@pytest.mark.parametrize(("board", "principal", "own"), [*product(MODES, MODES, MODES)])
def test_a_ticket_on_any_level_wins_and_unset_is_no_value(
    board: ConfirmationMode | None, principal: ConfirmationMode | None, own: ConfirmationMode | None
) -> None:
    route = policy_of(board, principal, own).confirmation_route(ALICE, DELETE)
    strict = [level for level, mode in zip(ConfirmationLevel, (board, principal, own), strict=True) if mode is TICKET]
    if not strict:
        assert route == ConfirmInClient(InteractiveMark(ALICE, True))
        return
    assert isinstance(route, ConfirmByTicket)
    assert [each.level for each in route.reasons if isinstance(each, ConfirmationSetting)] == strict


@pytest.mark.behaviour("confirmation.modes", "law.clients_do_not_confirm")
@given(
    st.booleans(),
    st.lists(
        st.builds(
            ConfirmationSetting, st.sampled_from(ConfirmationLevel), st.just(""), st.sampled_from(ConfirmationMode)
        )
    ),
)
def test_a_client_counts_only_if_marked_and_no_setting_widens_that(
    marked: bool, settings: list[ConfirmationSetting]
) -> None:
    route = choose_route(InteractiveMark(ALICE, marked), settings)
    assert isinstance(route, ConfirmInClient) == (marked and all(each.mode is not TICKET for each in settings))
    if isinstance(route, ConfirmByTicket):
        assert route.reasons


@pytest.mark.behaviour("confirmation.interactive")
def test_the_default_is_on_only_for_the_user_of_a_machine_that_asks_for_no_tokens() -> None:
    laptop = Policy()
    with_tokens = Policy(DeclaredSettings(principals={ALICE: alice()}))
    made = ApiToken("1", ALICE, "n", "p", b"d", frozenset({TokenScope.CALL}), LOCAL_PRINCIPAL, NOW)
    watching = replace(made, scopes=frozenset({TokenScope.READ}))
    cases = {
        "laptop": laptop,
        "a token that does not call": Policy(decisions=PolicyDecisions(tokens={"1": watching})),
        "reached from elsewhere": replace(laptop, is_exposed=True),
        "tokens were required before": replace(laptop, tokens_stay_required=True),
        "declared tokens": with_tokens,
        "tokens made at run time": Policy(decisions=PolicyDecisions(tokens={"1": made})),
    }
    found = {
        name: [policy.interactive_mark(who).is_marked for who in (LOCAL_PRINCIPAL, ALICE, BOB)]
        for name, policy in cases.items()
    }
    assert found == {
        "laptop": [True, False, False],
        "a token that does not call": [True, False, False],
        "reached from elsewhere": [False, False, False],
        "tokens were required before": [False, False, False],
        "declared tokens": [False, False, False],
        "tokens made at run time": [False, False, False],
    }


def after(policy: Policy, command: object, by: PrincipalId = ME) -> Policy:
    applied = apply_command(policy, command, by, NOW)  # type: ignore[arg-type]
    assert isinstance(applied, Policy), applied
    return applied


@pytest.mark.behaviour("confirmation.interactive")
def test_a_principal_is_marked_with_its_token_or_by_itself_and_forgotten_with_its_mark() -> None:
    token = MakeToken("1", ALICE, "laptop", "pgb_", b"d", frozenset({TokenScope.CALL}))
    policy = after(Policy(), replace(token, interactive=True))
    assert policy.interactive_mark(ALICE) == InteractiveMark(ALICE, True)
    again = after(policy, replace(token, id="2"))
    assert again.interactive_mark(ALICE).is_marked, "a further token says nothing of it"
    assert not after(policy, replace(token, id="2", interactive=False)).interactive_mark(ALICE).is_marked
    strict = after(policy, SetPrincipalConfirmation(ALICE, True, TICKET))
    assert isinstance(strict.confirmation_route(ALICE, DELETE), ConfirmByTicket)
    assert after(strict, SetPrincipalConfirmation(ALICE)).decisions.confirmations == {}
    assert after(policy, RemovePrincipal(ALICE, reopen=True)).decisions.confirmations == {}


@pytest.mark.behaviour("confirmation.interactive")
def test_of_a_declared_principal_only_the_files_word_counts() -> None:
    marked = {ALICE: PrincipalConfirmation(True, None)}
    policy = Policy(DeclaredSettings(principals={ALICE: alice()}), PolicyDecisions(confirmations=marked))
    assert not policy.interactive_mark(ALICE).is_marked
    refused = apply_command(policy, SetPrincipalConfirmation(ALICE, True), ME, NOW)
    assert refused == CommandRejection(
        "'alice' is declared at pegboard.yaml:7. Set interactive and confirmation there."
    )


@pytest.mark.behaviour("confirmation.modes")
def test_a_ticket_that_the_file_sets_for_a_tool_is_undone_by_no_override_made_at_run_time() -> None:
    wide = Override(GITHUB.toolset, Pattern("*", "*"), confirmation=TICKET, is_declared=True)
    policy = Policy(DeclaredSettings(overrides=(wide,), principals={ALICE: alice(interactive=True)}))
    assert isinstance(policy.confirmation_route(ALICE, DELETE), ConfirmByTicket)
    other = Override(GITHUB.toolset, DELETE, renderer="code")
    assert isinstance(after(_on_board(policy), SetOverride(other)).confirmation_route(ALICE, DELETE), ConfirmByTicket)
    own = Override(GITHUB.toolset, DELETE, confirmation=ConfirmationMode.IN_CLIENT)
    assert isinstance(after(_on_board(policy), SetOverride(own)).confirmation_route(ALICE, DELETE), ConfirmByTicket)


def _on_board(policy: Policy) -> Policy:
    on = replace(policy.declared, servers={GITHUB: server(GITHUB)}, toolsets={GITHUB.toolset: toolset(GITHUB.toolset)})
    return replace(policy, declared=on)


@pytest.mark.behaviour("confirmation.mode_explained")
def test_an_operator_reads_which_setting_decided_and_where_it_stands() -> None:
    board = policy_of(TICKET, TICKET, None)
    person = InstalledBy(ME, datetime(2026, 1, 2, tzinfo=UTC))
    marked = Policy(decisions=PolicyDecisions(confirmations={ALICE: PrincipalConfirmation(True, None, person)}))
    texts = {
        "default": describe_route(Policy().confirmation_route(LOCAL_PRINCIPAL, DELETE)),
        "unmarked": describe_route(Policy().confirmation_route(BOB, DELETE)),
        "settings": describe_route(board.confirmation_route(ALICE, DELETE)),
        "marked": describe_route(marked.confirmation_route(ALICE, DELETE)),
    }
    assert texts == {
        "default": "in the client, where it can ask its user; otherwise by a ticket (local is interactive, the default "
        "of a board without tokens on its own machine)",
        "unmarked": "by a ticket (bob is not interactive, which is the default)",
        "settings": "by a ticket (confirmation: ticket of the board, pegboard.yaml:7; confirmation: ticket of the "
        "principal alice)",
        "marked": "in the client, where it can ask its user; otherwise by a ticket (alice is interactive, set by me on "
        "2026-01-02)",
    }
