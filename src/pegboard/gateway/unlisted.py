"""Waiting for servers that have not listed their tools yet, by those who ask for a tool that may be theirs."""

from typing import Final

import anyio

from pegboard.core.call import ToolIsLocked
from pegboard.core.ids import ServerKey
from pegboard.core.policy import Policy
from pegboard.core.reference import closest
from pegboard.core.unlisted import may_have, starting, why_unlisted
from pegboard.core.view import View

from .board import Board

GRACE: Final = 5.0
"""Seconds beyond what a start may take, for what follows it: the list, and the record of a first sight."""


async def listed(board: Board, name: str, view: View) -> ToolIsLocked | None:
    """Once nobody who may have this tool is starting any more, or its time is up: why it is still not there.

    `None` when it is there, or when no such server could have it.
    """
    owners = may_have(name, board.catalogue, board.policy, view)
    if not owners:
        return None
    patience = max((_patience(key, board.policy) for key in starting(owners, board.catalogue)), default=0.0)
    with anyio.move_on_after(patience), board.changed.listen() as bell:
        while owners and starting(owners, board.catalogue) and not _is_there(board, name, view):
            await bell.wait()
            owners = may_have(name, board.catalogue, board.policy, view)
    if _is_there(board, name, view):
        return None
    near = bool(closest(name, board.resolution(view).by_name))
    reason = why_unlisted(owners, board.catalogue, near=near)
    return None if reason is None else ToolIsLocked(next(owners[key] for key in reason.servers), reason)


def _is_there(board: Board, name: str, view: View) -> bool:
    return board.resolution(view).called(name) is not None


def _patience(key: ServerKey, policy: Policy) -> float:
    server = policy.servers.get(key)
    return 0.0 if server is None else min(server.timeouts.call, server.timeouts.start + GRACE)
