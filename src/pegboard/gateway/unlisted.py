"""Waiting for servers that have not listed their tools yet, by those who ask for a tool that may be theirs."""

from typing import Final

import anyio

from pegboard.core.call import Refusal, ToolIsLocked, UnknownTool
from pegboard.core.catalogue import Starting
from pegboard.core.ids import ProviderKey, ToolsetKey
from pegboard.core.policy import Policy
from pegboard.core.reference import closest
from pegboard.core.resolve import Locked
from pegboard.core.status import Unavailable
from pegboard.core.unlisted import may_have, starting, why_unlisted
from pegboard.core.view import View

from .board import Board

GRACE: Final = 5.0
"""Seconds beyond what a start may take, for what follows it: the list, and the record of a first sight."""


async def listed(board: Board, name: str, view: View) -> ToolIsLocked | None:
    """Once nobody who may have this tool is starting any more, or its time is up: why it is still not there.

    `None` when it is there, or when no such server could have it.
    """
    if (begins := beginning(board, name, view)) is not None:
        return await _begun(board, name, view, begins)
    owners = may_have(name, board.catalogue, board.policy, view)
    if not owners:
        return None
    patience = max((_patience(key, board.policy) for key in starting(owners, board.catalogue)), default=0.0)
    with anyio.move_on_after(patience), board.changed.listen() as bell:
        while owners and starting(owners, board.catalogue) and not is_there(board, name, view) and not board.is_closed:
            await bell.wait()
            owners = may_have(name, board.catalogue, board.policy, view)
    if is_there(board, name, view):
        return None
    resolution = board.resolution(view)
    remembered = resolution.called(name)
    if remembered is not None and isinstance(verdict := resolution.verdicts[remembered], Locked):
        return ToolIsLocked(remembered, verdict.reason)
    near = bool(closest(name, resolution.by_name))
    reason = why_unlisted(owners, board.catalogue, near=near)
    return None if reason is None else ToolIsLocked(next(owners[key] for key in reason.servers), reason)


def is_there(board: Board, name: str, view: View) -> bool:
    """Whether who has a tool of this name has listed it. What is only remembered may not be there any more."""
    id = board.resolution(view).called(name)
    if id is None or board.catalogue.listings[id.source].remembered:
        return False
    return beginning(board, name, view) is None


def beginning(board: Board, name: str, view: View) -> ToolIsLocked | None:
    """Why it is locked, where that is only because what runs the toolset's own tools is just being started: after an
    import, or when it was restarted. A call is worth the wait, as it is when it wakes them."""
    resolution = board.resolution(view)
    id = resolution.called(name)
    match None if id is None else resolution.verdicts[id]:
        case Locked(_, Unavailable(ToolsetKey(), Starting(attempt)) as reason) if attempt <= 1 and id is not None:
            return ToolIsLocked(id, reason)
        case _:
            return None


async def _begun(board: Board, name: str, view: View, begins: ToolIsLocked) -> ToolIsLocked | None:
    key = begins.tool.source
    assert isinstance(key, ToolsetKey)
    with anyio.move_on_after(_patience(key, board.policy)), board.changed.listen() as bell:
        while beginning(board, name, view) is not None and not board.is_closed:
            await bell.wait()
    return beginning(board, name, view)


def may_come(board: Board, refusal: Refusal) -> bool:
    """Whether a call may be refused only because its server has not listed its tools yet."""
    match refusal:
        case UnknownTool():
            return True
        case ToolIsLocked(_, Unavailable(source, Starting(attempt))) if attempt <= 1:
            listing = board.catalogue.listings.get(source)
            return isinstance(source, ToolsetKey) or (listing is not None and listing.remembered)
        case _:
            return False


def _patience(key: ProviderKey, policy: Policy) -> float:
    server = policy.servers.get(key)
    return 0.0 if server is None else min(server.timeouts.call, server.timeouts.start + GRACE)
