"""Attacks through extensions of PostgreSQL: those that Debian packages, and that of the server of the tests."""

from collections.abc import Sequence

import pytest
from tests.providers.database.postgres_extensions import BENIGN, BENIGN_VECTOR, HAND, LIMITS, ExtendedShop
from tests.servers.debian_postgres import debian_postgres

from pegboard.core.databases.rows import FindingSeverity, QueryRows
from pegboard.providers.database.postgres.engine import PostgresEngine

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


async def assert_closed(shop: ExtendedShop, calls: Sequence[str], benign: Sequence[str]) -> None:
    """`calls` are held by whether they answer, as what they answer is made of the names in them."""
    before = await shop.state()
    engine = PostgresEngine(shop.url, shop.rule)
    try:
        # A pattern may name what only some extensions bring.
        findings = (await engine.check()).findings
        assert [each for each in findings if each.severity is not FindingSeverity.WARNING] == []
        answers = {text: await engine.run(text, (), LIMITS) for text in benign}
    finally:
        await engine.aclose()
    assert {text: told for text, told in answers.items() if not isinstance(told, QueryRows)} == {}
    assert await shop.leaks(HAND) == []
    assert await shop.leaks(calls, by_kind=True) == []
    assert await shop.state() == before


@pytest.mark.behaviour("databases.postgres.extensions")
async def test_no_extension_of_the_tests_server_leads_to_what_is_closed(postgres_server: str) -> None:
    shop = ExtendedShop(postgres_server)
    await shop.make()
    await assert_closed(shop, (), BENIGN_VECTOR)


@pytest.mark.soak
@pytest.mark.behaviour("databases.postgres.extensions")
async def test_no_extension_and_no_function_that_debian_packages_leads_to_what_is_closed() -> None:
    with debian_postgres() as server:
        shop = ExtendedShop(server)
        await shop.make()
        assert len(shop.extensions) > 30
        calls = await shop.calls()
        assert len(calls) > 5000
        await assert_closed(shop, calls, BENIGN)
