"""Tools in containers, run by podman or docker: commands of images, and images that speak MCP."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from pegboard.config.container_keys import ContainerSettings
from pegboard.core.ids import Source
from pegboard.core.own import Image, Own
from pegboard.core.server import Server
from pegboard.ports import Clock, Expand, Provider

from .box import Board
from .commands import Commands
from .engine import Engine, NoEngine, find_engine, unfound
from .images import fetched, label_of
from .leftovers import remove_leftovers
from .speaking import Speaking, Starts, container_stdio

__all__ = ["Containers"]


def _untold(what: str) -> None:
    """Nobody wants to know."""


class Containers:
    """All containers of one board. What a killed gateway left of it goes when the first of them is needed."""

    def __init__(self, settings: ContainerSettings, data_dir: Path, clock: Clock) -> None:
        self._settings = settings
        self._board = Board(data_dir)
        self._clock = clock
        self._swept = False

    def commands(self, source: Source, own: Own, expand: Expand) -> Provider:
        """The commands that a toolset declares."""
        return Commands(source, own, self._board, self.found, self._sweep, expand, self._clock)

    def speaking(
        self, server: Server, image: Image, expand: Expand, connect: Callable[[Server, Expand], Provider]
    ) -> Provider:
        """An image that speaks MCP; `connect` makes the provider of a server that is a program."""
        toolset = str(server.key.toolset)
        starts = Starts(toolset, image, self._board, self.found, expand)
        stdio = container_stdio(toolset, image, self._board, unfound(self._settings))
        return Speaking(server, connect(replace(server, connection=stdio), starts), starts, self._sweep)

    async def fetch(self, image: str, told: Callable[[str], None] = _untold) -> None:
        """So that the image is here. Raises `CannotDescribe`."""
        await fetched(self.found, image, told)

    async def label(self, image: str, told: Callable[[str], None] = _untold) -> str | None:
        """What an image says of its tools. Raises `CannotDescribe`."""
        return await label_of(self.found, image, told)

    def found(self) -> Engine | NoEngine:
        return find_engine(self._settings, self._board.folder)

    async def _sweep(self, engine: Engine) -> None:
        if not self._swept:
            self._swept = True
            await remove_leftovers(engine, self._board)
