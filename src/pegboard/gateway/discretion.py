"""A call of a tool with pinned arguments: whatever its server says of it reaches the caller without their values."""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from typing import assert_never

from pegboard.core.call import (
    AdmittedCall,
    CallCancellation,
    NeedsInput,
    Outcome,
    ProtocolErrorReply,
    ProviderFailure,
    ToolFailure,
    ToolSuccess,
)
from pegboard.core.echo import PinnedValueMask
from pegboard.core.tool import Json
from pegboard.ports import ClientPeer, Progress, Provider


async def call_masked(
    provider: Provider,
    admitted: AdmittedCall,
    progress: Progress | None,
    peer: ClientPeer | None,
    echo: PinnedValueMask,
) -> Outcome:
    return mask_pinned(await provider.call(admitted, masked_progress(progress, echo), masked_peer(peer, echo)), echo)


def mask_pinned(ended: Outcome, echo: PinnedValueMask) -> Outcome:
    match ended:
        case ToolSuccess(body) | ToolFailure(body) | NeedsInput(body):
            return replace(ended, body=echo.mask_json(body))
        case ProtocolErrorReply(error):
            return ProtocolErrorReply(echo.mask_json(error))
        case ProviderFailure(why, may_have_run, error):
            told = None if error is None else echo.mask_json(error)
            return ProviderFailure(echo.mask_text(why), may_have_run, told)
        case CallCancellation():
            return ended
        case _:
            assert_never(ended)


def masked_progress(progress: Progress | None, echo: PinnedValueMask) -> Progress | None:
    if progress is None:
        return None

    def report(done: float, of: float | None, words: str | None) -> None:
        progress(done, of, None if words is None else echo.mask_text(words))

    return report


def masked_peer(peer: ClientPeer | None, echo: PinnedValueMask) -> ClientPeer | None:
    return None if peer is None else _MaskedPeer(peer, echo)


@dataclass(frozen=True)
class _MaskedPeer:
    peer: ClientPeer
    echo: PinnedValueMask

    @property
    def capabilities(self) -> Mapping[str, Json]:
        return self.peer.capabilities

    @property
    def connection_key(self) -> Hashable:
        return self.peer.connection_key

    def notify(self, method: str, params: Mapping[str, Json]) -> None:
        self.peer.notify(method, self.echo.mask_members(params))

    async def request(
        self, method: str, params: Mapping[str, Json], last: Callable[[], ClientPeer] | None = None
    ) -> Mapping[str, Json]:
        heard = None if last is None else lambda: _inner_peer(last())
        return await self.peer.request(method, self.echo.mask_members(params), heard)


def _inner_peer(peer: ClientPeer) -> ClientPeer:
    """By itself: whoever asked compares."""
    return peer.peer if isinstance(peer, _MaskedPeer) else peer
