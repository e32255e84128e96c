"""Since when tools wait: noted by the gateway as it sees them, whether the store is there or not."""

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta

import anyio
import pytest
from tests.core.boards import NOW, key, tool
from tests.support.doubles import Providers
from tests.support.house import PATIENCE, declared, opened

from pegboard.core.commands.commands import ApproveTool, SetTrust
from pegboard.core.model.ids import LOCAL_PRINCIPAL, ToolId
from pegboard.core.model.server import Trust
from pegboard.core.model.tool import Fingerprint, Tool, ToolSpec
from pegboard.gateway.approvals import InMemoryPendingSinceStore, PendingSince
from pegboard.gateway.board import BoardState
from pegboard.ports.audit import StoreUnavailable

pytestmark = pytest.mark.anyio

GITHUB = key("dev~github")
READ, WRITE = tool(GITHUB, "read"), tool(GITHUB, "write")
CHANGED = Tool(READ.id, ToolSpec("read", description="Reads, and sends it on."))
HOUR = timedelta(hours=1)


class Hands:
    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        return self.now


class Away(InMemoryPendingSinceStore):
    def __init__(self) -> None:
        super().__init__()
        self.away = False

    async def record_pending(
        self, waiting: Mapping[ToolId, Fingerprint], settled: Collection[ToolId], at: datetime
    ) -> Mapping[ToolId, datetime]:
        if self.away:
            raise StoreUnavailable("gone fishing")
        return await super().record_pending(waiting, settled, at)


def names(since: Mapping[ToolId, datetime]) -> dict[str, datetime]:
    return {tool.name: at for tool, at in since.items()}


@pytest.mark.behaviour("approvals.oldest_first")
async def test_a_tool_waits_since_its_definition_was_first_seen() -> None:
    providers, hands = Providers({GITHUB: (READ,)}), Hands()
    with anyio.fail_after(PATIENCE):
        async with opened(declared(GITHUB, trust=Trust.STRICT), providers) as house:
            waits = PendingSince(house.board, InMemoryPendingSinceStore(), hands)
            assert names(await waits.since()) == {"read": NOW}
            hands.now += HOUR
            house.provider(GITHUB).lists(READ, WRITE)
            await house.until(lambda: WRITE.id in house.board.catalogue.tools)
            assert names(await waits.since()) == {"read": NOW, "write": NOW + HOUR}
            hands.now += HOUR
            house.provider(GITHUB).lists(CHANGED, WRITE)
            await house.until(lambda: house.board.catalogue.tools[READ.id].spec == CHANGED.spec)
            assert names(await waits.since()) == {"read": NOW + 2 * HOUR, "write": NOW + HOUR}
            write = ApproveTool(WRITE.id, WRITE.spec, WRITE.spec.fingerprint)
            await house.gateway.operator.execute(write, LOCAL_PRINCIPAL)
            assert names(await waits.since()) == {"read": NOW + 2 * HOUR}
            await house.gateway.operator.execute(SetTrust(GITHUB, Trust.OPEN), LOCAL_PRINCIPAL)
            assert await waits.since() == {}
            hands.now += HOUR
            await house.gateway.operator.execute(SetTrust(GITHUB, Trust.STRICT), LOCAL_PRINCIPAL)
            assert names(await waits.since()) == {"read": NOW + 3 * HOUR}


@pytest.mark.behaviour("approvals.oldest_first")
async def test_while_the_store_is_away_what_is_known_stays_and_is_written_when_it_is_back() -> None:
    hands, store = Hands(), Away()
    with anyio.fail_after(PATIENCE):
        async with opened(declared(GITHUB, trust=Trust.STRICT), Providers({GITHUB: (READ,)})) as house:
            waits = PendingSince(house.board, store, hands)
            assert names(await waits.since()) == {"read": NOW}
            store.away, hands.now = True, NOW + HOUR
            house.provider(GITHUB).lists(READ, WRITE)
            await house.until(lambda: WRITE.id in house.board.catalogue.tools)
            assert names(await waits.since()) == {"read": NOW, "write": NOW + HOUR}
            store.away, hands.now = False, NOW + 2 * HOUR
            assert names(await waits.since()) == {"read": NOW, "write": NOW + 2 * HOUR}


async def test_nothing_waits_on_an_empty_board() -> None:
    assert await PendingSince(BoardState(), InMemoryPendingSinceStore(), Hands()).since() == {}
