"""Waiting for servers that have not listed their tools yet, by those who ask for a tool that may be theirs."""

from typing import Final

import anyio

from pegboard.core.call import LockedToolRefusal, Refusal, UnknownTool
from pegboard.core.catalogue import ProviderStart
from pegboard.core.ids import ProviderKey, ToolsetKey
from pegboard.core.policy import Policy
from pegboard.core.reference import closest_names
from pegboard.core.resolve import LockedTool
from pegboard.core.status import ProviderUnavailable
from pegboard.core.unlisted import possible_owners, servers_starting, why_unlisted
from pegboard.core.view import View

from .board import BoardState

GRACE_S: Final = 5.0
"""Seconds beyond what a start may take, for what follows it: the list, and the record of a first sight."""


async def wait_until_listed(board: BoardState, name: str, view: View) -> LockedToolRefusal | None:
    """Once nobody who may have this tool is starting any more, or its time is up: why it is still not there.

    `None` when it is there, or when no such server could have it.
    """
    if (begins := starting_reason(board, name, view)) is not None:
        return await _wait_for_start(board, name, view, begins)
    owners = possible_owners(name, board.catalogue, board.policy, view)
    if not owners:
        return None
    patience = max(
        (_start_timeout(key, board.policy) for key in servers_starting(owners, board.catalogue)), default=0.0
    )
    with anyio.move_on_after(patience), board.changes.subscribe() as bell:
        while (
            owners
            and servers_starting(owners, board.catalogue)
            and not is_listed(board, name, view)
            and not board.is_closed
        ):
            await bell.wait()
            owners = possible_owners(name, board.catalogue, board.policy, view)
    if is_listed(board, name, view):
        return None
    resolution = board.resolution(view)
    remembered = resolution.find_tool(name)
    if remembered is not None and isinstance(verdict := resolution.verdicts[remembered], LockedTool):
        return LockedToolRefusal(remembered, verdict.reason)
    near = bool(closest_names(name, resolution.by_name))
    reason = why_unlisted(owners, board.catalogue, near=near)
    return None if reason is None else LockedToolRefusal(next(owners[key] for key in reason.servers), reason)


def is_listed(board: BoardState, name: str, view: View) -> bool:
    """Whether who has a tool of this name has listed it. What is only remembered may not be there any more."""
    id = board.resolution(view).find_tool(name)
    if id is None or board.catalogue.listings[id.source].is_remembered:
        return False
    return starting_reason(board, name, view) is None


def starting_reason(board: BoardState, name: str, view: View) -> LockedToolRefusal | None:
    """Why it is locked, where that is only because what runs the toolset's own tools is just being started: after an
    import, or when it was restarted. A call is worth the wait, as it is when it wakes them."""
    resolution = board.resolution(view)
    id = resolution.find_tool(name)
    match None if id is None else resolution.verdicts[id]:
        case LockedTool(_, ProviderUnavailable(ToolsetKey(), ProviderStart(attempt)) as reason) if (
            attempt <= 1 and id is not None
        ):
            return LockedToolRefusal(id, reason)
        case _:
            return None


async def _wait_for_start(
    board: BoardState, name: str, view: View, begins: LockedToolRefusal
) -> LockedToolRefusal | None:
    key = begins.tool.source
    assert isinstance(key, ToolsetKey)
    with anyio.move_on_after(_start_timeout(key, board.policy)), board.changes.subscribe() as bell:
        while starting_reason(board, name, view) is not None and not board.is_closed:
            await bell.wait()
    return starting_reason(board, name, view)


def may_be_listed_soon(board: BoardState, refusal: Refusal) -> bool:
    """Whether a call may be refused only because its server has not listed its tools yet."""
    match refusal:
        case UnknownTool():
            return True
        case LockedToolRefusal(_, ProviderUnavailable(source, ProviderStart(attempt))) if attempt <= 1:
            listing = board.catalogue.listings.get(source)
            return isinstance(source, ToolsetKey) or (listing is not None and listing.is_remembered)
        case _:
            return False


def _start_timeout(key: ProviderKey, policy: Policy) -> float:
    server = policy.servers.get(key)
    return 0.0 if server is None else min(server.timeouts.call, server.timeouts.start + GRACE_S)
