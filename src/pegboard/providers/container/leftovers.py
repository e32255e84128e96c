"""Containers that a gateway of this board left behind when it was killed: found by their labels, and removed."""

import logging
from typing import Final

from .box import BOARD_LABEL, Board, owner_of
from .engine import Engine, engine_error
from .running import remove

log = logging.getLogger("pegboard.container")

_WITHIN: Final = 60.0


async def remove_leftovers(engine: Engine, board: Board) -> tuple[str, ...]:
    """Their names. Those of another board, and of a gateway that still runs, stay."""
    try:
        said = await engine.ask(
            *("ps", "--all", "--filter", f"label={BOARD_LABEL}={board.id}"),
            *("--format", "{{.Names}}"),
            within=_WITHIN,
        )
    except (OSError, TimeoutError) as error:
        log.warning("leftover containers cannot be looked for, because %s cannot be asked: %s", engine.name, error)
        return ()
    if said.code:
        log.warning("leftover containers cannot be looked for: %s says: %s", engine.name, engine_error(said.error))
        return ()
    names = said.out.decode("utf-8", "replace").split()
    left = tuple(name for name in names if (whose := owner_of(name)) is not None and not whose.lives)
    await remove(engine, *left)
    return left
