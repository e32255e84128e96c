"""Containers that a gateway of this board left behind when it was killed: found by their labels, and removed."""

import logging
from typing import Final

from .box import BOARD_LABEL, ContainerNamespace, owner_of
from .engine import ContainerEngine, engine_error
from .running import remove_containers

log = logging.getLogger("pegboard.container")

_LIST_TIMEOUT_S: Final = 60.0


async def remove_leftovers(engine: ContainerEngine, board: ContainerNamespace) -> tuple[str, ...]:
    """Their names. Those of another board, and of a gateway that still runs, stay."""
    try:
        said = await engine.query(
            *("ps", "--all", "--filter", f"label={BOARD_LABEL}={board.id}"),
            *("--format", "{{.Names}}"),
            within=_LIST_TIMEOUT_S,
        )
    except (OSError, TimeoutError) as error:
        log.warning("leftover containers cannot be looked for, because %s cannot be asked: %s", engine.name, error)
        return ()
    if said.code:
        log.warning("leftover containers cannot be looked for: %s says: %s", engine.name, engine_error(said.error))
        return ()
    names = said.out.decode("utf-8", "replace").split()
    left = tuple(name for name in names if (whose := owner_of(name)) is not None and not whose.is_alive)
    await remove_containers(engine, *left)
    return left
