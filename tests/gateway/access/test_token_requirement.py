"""A board that required tokens never opens by itself: not by its file, its store, an import, or the end of a token."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml
from tests.core.boards import FILE, ME, NOW
from tests.store.engines import now
from tests.support.doubles import MemoryStore, Providers
from tests.support.house import opened

from pegboard.bootstrap.application import open_application
from pegboard.config.settings import Settings, load_settings_file
from pegboard.core.commands.access import RemovePrincipal, RevokeToken
from pegboard.core.commands.commands import apply_command
from pegboard.core.commands.transfer import PolicyExport, ReplaceDecisions
from pegboard.core.model.ids import LOCAL_PRINCIPAL, PrincipalId
from pegboard.core.model.principals import ApiToken, Principal, TokenScope
from pegboard.core.model.rejection import CommandRejection
from pegboard.core.policy.policy import DeclaredSettings, Policy, PolicyDecisions
from pegboard.gateway.access.token_requirement import TokenRequirement
from pegboard.gateway.access.tokens import caller_token_hashes
from pegboard.gateway.board import BoardState
from pegboard.store.open import open_store
from pegboard.surfaces.mcp.authentication import BearerAuthentication
from pegboard.surfaces.mcp.request_checks import HttpRejection

pytestmark = pytest.mark.anyio

BOB = PrincipalId("bob")
TOKEN = ApiToken("t1", BOB, "laptop", "pgb_", b"0" * 32, frozenset({TokenScope.CALL}), ME, NOW)
WITH_TOKEN = PolicyDecisions(version=3, tokens={"t1": TOKEN})
NAMED = DeclaredSettings(principals={BOB: Principal(BOB, FILE, (b"1" * 32,))})


def lets_in_strangers(policy: Policy) -> bool:
    return BearerAuthentication(BoardState(policy), lambda: NOW).principal_of(None) == LOCAL_PRINCIPAL


@pytest.mark.behaviour("access.never_reopens")
def test_a_board_that_never_had_tokens_is_open_and_one_that_is_closed_lets_nobody_in() -> None:
    assert lets_in_strangers(Policy())
    assert not lets_in_strangers(Policy(tokens_stay_required=True))
    assert isinstance(
        BearerAuthentication(BoardState(Policy(tokens_stay_required=True))).principal_of(b"Bearer whatever"),
        HttpRejection,
    )
    assert caller_token_hashes(Policy(tokens_stay_required=True), NOW)


@pytest.mark.behaviour("access.never_reopens")
async def test_a_running_gateway_stays_closed_whatever_becomes_of_its_file_and_its_store() -> None:
    async with opened(NAMED, Providers({})) as house:
        assert not lets_in_strangers(house.board.policy)
        await house.gateway.operator.apply_settings(DeclaredSettings())
        assert not lets_in_strangers(house.board.policy)
        assert "there is none any more" in house.board.notices["tokens"].text
    store = MemoryStore(WITH_TOKEN)
    async with opened(DeclaredSettings(), Providers({}), store=store) as house:
        assert not lets_in_strangers(house.board.policy)
        store.decided = PolicyDecisions(version=9)
        await house.gateway.operator.reload()
        assert house.board.policy.version == 9
        assert not lets_in_strangers(house.board.policy)


@pytest.mark.behaviour("access.never_reopens")
async def test_the_first_token_closes_a_running_gateway_for_good() -> None:
    store = MemoryStore()
    async with opened(DeclaredSettings(), Providers({}), store=store) as house:
        assert lets_in_strangers(house.board.policy)
        store.decided = WITH_TOKEN
        await house.gateway.operator.reload()
        store.decided = PolicyDecisions(version=4)
        await house.gateway.operator.reload()
        assert not lets_in_strangers(house.board.policy)


@pytest.mark.behaviour("access.never_reopens")
def test_the_end_of_the_last_token_opens_nothing_and_only_a_persons_word_does() -> None:
    policy = Policy(decisions=WITH_TOKEN, tokens_stay_required=True)
    revoked = apply_command(policy, RevokeToken("t1"), ME, NOW)
    assert isinstance(revoked, Policy)
    assert not lets_in_strangers(revoked)
    expired = replace(TOKEN, expires_at=NOW - timedelta(days=1))
    assert not lets_in_strangers(Policy(decisions=PolicyDecisions(tokens={"t1": expired})))
    assert isinstance(apply_command(policy, RemovePrincipal(BOB), ME, NOW), CommandRejection)
    reopened = apply_command(policy, RemovePrincipal(BOB, reopen=True), ME, NOW)
    assert isinstance(reopened, Policy)
    assert lets_in_strangers(reopened)


@pytest.mark.behaviour("access.never_reopens", "policy.import_needs_tokens")
def test_a_policy_from_a_board_with_tokens_is_imported_only_where_there_are_some_or_openly() -> None:
    carried = PolicyExport(tokens_required=True)
    refused = apply_command(Policy(), ReplaceDecisions(carried), ME, NOW)
    assert isinstance(refused, CommandRejection)
    assert "pegboard tokens make NAME --scope call" in refused.why
    assert isinstance(apply_command(Policy(), ReplaceDecisions(carried, allow_open=True), ME, NOW), Policy)
    kept = apply_command(Policy(decisions=WITH_TOKEN), ReplaceDecisions(carried), ME, NOW)
    assert isinstance(kept, Policy)
    assert not lets_in_strangers(kept)
    assert not lets_in_strangers(Policy(decisions=kept.decisions))


@pytest.mark.behaviour("access.requirement_is_remembered")
async def test_that_tokens_were_required_is_remembered_beside_the_store_and_in_it(tmp_path: Path) -> None:
    first, second = tmp_path / "one", tmp_path / "two"
    first.mkdir()
    second.mkdir()
    async with (
        open_store(f"sqlite:///{tmp_path}/a.db", clock=now) as store,
        open_store(f"sqlite:///{tmp_path}/b.db", clock=now) as fresh,
    ):
        requirement = TokenRequirement(first, store.token_requirement, lambda: datetime.now(UTC))
        await requirement.update(Policy())
        assert not await requirement.is_remembered()
        await requirement.update(Policy(NAMED))
        assert await requirement.is_remembered()
        moved = TokenRequirement(first, fresh.token_requirement, now)
        elsewhere = TokenRequirement(second, store.token_requirement, now)
        assert (await moved.is_remembered(), await elsewhere.is_remembered()) == (True, True)
        # A board without tokens that never required any says nothing of one that did.
        await moved.update(Policy())
        assert await moved.is_remembered()
        await requirement.update(Policy())
        assert not await requirement.is_remembered()


@pytest.mark.behaviour("confirmation.not_interactive_after_tokens")
async def test_neither_a_shorter_file_nor_another_store_makes_local_interactive_again(tmp_path: Path) -> None:
    named = {"principals": {"bot": {"token_sha256": "1" * 64}}}
    moved = {"store": f"sqlite:///{tmp_path}/fresh.db"}
    assert await is_local_interactive(tmp_path, {}, "untouched")
    assert not await is_local_interactive(tmp_path, named)
    for changed in (dict[str, str](), moved):
        assert not await is_local_interactive(tmp_path, changed), changed
    # Only the store remembers it, as where another gateway shares it.
    shared = {"store": f"sqlite:///{tmp_path}/data/pegboard.db"}
    assert not await is_local_interactive(tmp_path, shared, "elsewhere")
    assert await is_local_interactive(tmp_path, {}, open_again=True)
    assert await is_local_interactive(tmp_path, {})


async def is_local_interactive(
    folder: Path, written: Mapping[str, object], data: str = "data", *, open_again: bool = False
) -> bool:
    """As a command or a client over stdio finds it, which reach the gateway without a token."""
    config = folder / "pegboard.yaml"
    config.write_text(yaml.safe_dump(dict(written)))
    settings = load_settings_file(config)
    assert isinstance(settings, Settings), str(settings)
    async with open_application(
        folder / data, settings, lambda key, id: True, follow=False, listens=open_again, is_open=open_again
    ) as house:
        await house.gateway.operator.reload()
        return house.gateway.board.policy.interactive_mark(LOCAL_PRINCIPAL).is_marked
