"""Waiting for servers: which of them have not said yet whether they are well."""

import anyio

from pegboard.core.catalogue import Health, ProviderStart
from pegboard.core.ids import ProviderKey
from pegboard.gateway.board import BoardState


def is_first_start(health: Health) -> bool:
    """A second attempt tells that the first one failed."""
    return isinstance(health, ProviderStart) and health.attempt <= 1


async def wait_until_settled(board: BoardState, key: ProviderKey, within: float) -> None:
    """Until the server has answered or failed, or is no more; but not longer than `within` seconds."""
    with anyio.move_on_after(within), board.changes.subscribe() as bell:
        while key in board.policy.servers and _is_undecided(board.catalogue.health(key)) and not board.is_closed:
            await bell.wait()


def _is_undecided(health: Health | None) -> bool:
    return health is None or is_first_start(health)
