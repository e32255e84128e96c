"""Tools in containers, run by podman or docker."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from pegboard.config.keys.features import ContainerSettings
from pegboard.core.model.ids import SourceKey
from pegboard.core.model.server import Server
from pegboard.core.model.tool import ContainerImage, OwnTools
from pegboard.ports.providers import Clock, Expand, Provider, ignore
from pegboard.providers.container.commands import CommandTools
from pegboard.providers.container.engine import ContainerEngine, NoEngine, engine_template, find_engine
from pegboard.providers.container.flags import ContainerNamespace
from pegboard.providers.container.mcp import ContainerExpander, ContainerMcpProvider, container_stdio
from pegboard.providers.container.run import fetch_image, image_label, remove_leftovers

__all__ = ["Containers"]


class Containers:
    """All containers of one board. What a killed gateway left of it goes when the first of them is needed."""

    def __init__(self, settings: ContainerSettings, data_dir: Path, clock: Clock) -> None:
        self._settings = settings
        self._board = ContainerNamespace(data_dir)
        self._clock = clock
        self._is_swept = False

    def command_provider(self, source: SourceKey, own: OwnTools, expand: Expand) -> Provider:
        """The commands that a toolset declares."""
        return CommandTools(source, own, self._board, self.engine, self._sweep, expand, self._clock)

    def mcp_provider(
        self, server: Server, image: ContainerImage, expand: Expand, connect: Callable[[Server, Expand], Provider]
    ) -> Provider:
        """An image that speaks MCP; `connect` makes the provider of a server that is a program."""
        toolset = str(server.key.toolset)
        starts = ContainerExpander(toolset, image, self._board, self.engine, expand)
        stdio = container_stdio(toolset, image, self._board, engine_template(self._settings))
        return ContainerMcpProvider(server, connect(replace(server, connection=stdio), starts), starts, self._sweep)

    async def fetch(self, image: str, told: Callable[[str], None] = ignore) -> None:
        """So that the image is here. Raises `ToolDescriptionError`."""
        await fetch_image(self.engine, image, told)

    async def label(self, image: str, told: Callable[[str], None] = ignore) -> str | None:
        """What an image says of its tools. Raises `ToolDescriptionError`."""
        return await image_label(self.engine, image, told)

    def engine(self) -> ContainerEngine | NoEngine:
        return find_engine(self._settings, self._board.folder)

    async def _sweep(self, engine: ContainerEngine) -> None:
        if not self._is_swept:
            self._is_swept = True
            await remove_leftovers(engine, self._board)
