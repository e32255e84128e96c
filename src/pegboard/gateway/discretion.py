"""A call of a tool with pinned arguments: whatever its server says of it reaches the caller without their values."""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from typing import assert_never

from pegboard.core.call import Admitted, Cancelled, Demanded, NeedsInput, Outcome, ProviderFailed, Returned, ToolFailed
from pegboard.core.echo import Echo
from pegboard.core.tool import Json
from pegboard.ports import Peer, Progress, Provider


async def discreetly(
    provider: Provider, admitted: Admitted, progress: Progress | None, peer: Peer | None, echo: Echo
) -> Outcome:
    return without_echo(await provider.call(admitted, quiet_progress(progress, echo), quiet_peer(peer, echo)), echo)


def without_echo(ended: Outcome, echo: Echo) -> Outcome:
    match ended:
        case Returned(body) | ToolFailed(body) | NeedsInput(body):
            return replace(ended, body=echo.out_of_json(body))
        case Demanded(error):
            return Demanded(echo.out_of_json(error))
        case ProviderFailed(why, may_have_run, error):
            told = None if error is None else echo.out_of_json(error)
            return ProviderFailed(echo.out_of(why), may_have_run, told)
        case Cancelled():
            return ended
        case _:
            assert_never(ended)


def quiet_progress(progress: Progress | None, echo: Echo) -> Progress | None:
    if progress is None:
        return None

    def told(done: float, of: float | None, words: str | None) -> None:
        progress(done, of, None if words is None else echo.out_of(words))

    return told


def quiet_peer(peer: Peer | None, echo: Echo) -> Peer | None:
    return None if peer is None else _Quiet(peer, echo)


@dataclass(frozen=True)
class _Quiet:
    peer: Peer
    echo: Echo

    @property
    def can(self) -> Mapping[str, Json]:
        return self.peer.can

    @property
    def who(self) -> Hashable:
        return self.peer.who

    def note(self, method: str, params: Mapping[str, Json]) -> None:
        self.peer.note(method, self.echo.out_of_members(params))

    async def ask(
        self, method: str, params: Mapping[str, Json], last: Callable[[], Peer] | None = None
    ) -> Mapping[str, Json]:
        heard = None if last is None else lambda: _bare(last())
        return await self.peer.ask(method, self.echo.out_of_members(params), heard)


def _bare(peer: Peer) -> Peer:
    """By itself: whoever asked compares."""
    return peer.peer if isinstance(peer, _Quiet) else peer
