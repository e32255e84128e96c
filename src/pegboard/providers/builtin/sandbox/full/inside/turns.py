"""The event loop of a program: asyncio's own, turning on frames of the gateway instead of sockets, which there are none
of."""

import asyncio
from asyncio import events
from collections.abc import Callable, Sequence
from typing import Any

Frame = dict[str, Any]


class FrameSelector:
    """What the loop takes for a selector: it waits for frames, and for nothing else."""

    def __init__(self, hear: Callable[[float | None], list[Frame]]) -> None:
        self._receive = hear

    def select(self, timeout: float | None = None) -> list[Frame]:
        return self._receive(timeout)

    def close(self) -> None:
        pass


class FrameEventLoop(asyncio.BaseEventLoop):
    _selector: FrameSelector

    def __init__(self, hear: Callable[[float | None], list[Frame]], heard: Callable[[Frame], None]) -> None:
        super().__init__()
        self._selector = FrameSelector(hear)
        self._handle_frame = heard

    def _process_events(self, event_list: Sequence[Frame]) -> None:
        for frame in event_list:
            self._handle_frame(frame)

    def _write_to_self(self) -> None:
        """Nobody else could wake it: there are no threads, and signals interrupt the wait."""

    def add_signal_handler(self, sig: int, callback: Callable[..., object], *args: object) -> None:
        raise NotImplementedError("there are no signals in this sandbox")


def install_event_loop(make: Callable[[], FrameEventLoop]) -> FrameEventLoop:
    """Whoever asks asyncio for a loop from now on, as `asyncio.run` does, gets one that `make` makes."""
    asyncio.new_event_loop = events.new_event_loop = make
    loop = make()
    asyncio.set_event_loop(loop)
    return loop
