"""An image that speaks MCP on its input and output: run by the engine as a program, as any other server over stdio.

What an MCP server takes is somebody else's to know; here it is only told which program to start, and the containers of
programs that did not end well are removed after it.
"""

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import replace
from typing import Any, Final

import anyio

from pegboard.config.references import literal
from pegboard.core.call import Admitted, Outcome
from pegboard.core.catalogue import Asleep, Down, Listing
from pegboard.core.ids import Source
from pegboard.core.own import Image
from pegboard.core.server import Server, Stdio
from pegboard.ports import Expand, Leaves, Library, Peer, Progress, Provider, Ring, Unresolved

from .answers import ENGINE_FAILED, cannot_run
from .box import (
    Board,
    image_problem,
    launch_environment,
    launched,
    run_flags,
    run_line,
    variable_problem,
)
from .commands import NotNow, workspace
from .engine import Engine, NoEngine, said_by_engine
from .running import remove

ENGINE: Final = "${pegboard:engine}"
FOLDER: Final = "${pegboard:folder}"
NAME: Final = "${pegboard:container}"
_AFTER: Final = 1.0
"""Seconds."""


class Starts:
    """What stands for the engine and for a name of its own in the command of one image, at each start anew."""

    def __init__(
        self, toolset: str, image: Image, board: Board, find: Callable[[], Engine | NoEngine], expand: Expand
    ) -> None:
        self._toolset = toolset
        self.image = image
        self._board = board
        self._find = find
        self._expand = expand
        self._variables = {text: name for name, text in image.env.items()}
        self.engine: Engine | None = None
        self.names: list[str] = []
        """Of containers that may still be there, the latest last."""

    def __call__(self, text: str) -> str | Unresolved:
        if text == ENGINE:
            return self._program()
        if text == FOLDER:
            # Asked for last: the engine was found by now, and its folder made.
            return (self.engine and self.engine.folder) or str(self._board.folder)
        if text == NAME:
            self.names.append(self._board.fresh_name())
            return self.names[-1]
        value = self._expand(text)
        if text in self._variables and not isinstance(value, Unresolved):
            problem = variable_problem(self._variables[text], value)
            return value if problem is None else Unresolved(f"cannot start: {problem}")
        return value

    def _program(self) -> str | Unresolved:
        if (problem := image_problem(self.image.image)) is not None:
            return Unresolved(f"cannot start: {problem}")
        found = self._find()
        if isinstance(found, NoEngine):
            return Unresolved(found.why)
        try:
            workspace(self._board, self._toolset, self.image)
        except NotNow as problem:
            return Unresolved(str(problem))
        self.engine = found
        return found.program


def container_stdio(toolset: str, image: Image, board: Board, engine: Engine) -> Stdio:
    """The program that runs the image. `ENGINE`, `NAME` and `FOLDER` in it are for `Starts` to fill in."""
    flags = run_flags(
        image,
        name=NAME,
        labels=board.labels(toolset),
        workspace=board.workspace(toolset) if image.workspace else None,
        env=bool(image.env),
    )
    line = run_line(replace(engine, program=ENGINE), flags, image.image, arguments=image.args)
    command, *arguments = launched(line) if image.env else line
    kept = {name: literal(value) for name, value in engine.environment.items()}
    return Stdio(
        command if command == ENGINE else literal(command),
        # The toolset's own arguments may hold references; everything else stands for itself.
        tuple(
            arg if arg in (ENGINE, NAME) or at >= len(arguments) - len(image.args) else literal(arg)
            for at, arg in enumerate(arguments)
        ),
        {**kept, **launch_environment(image.env)},
        FOLDER,
    )


class Speaking:
    """The provider of such an image. What it does is done by the one within."""

    def __init__(
        self, server: Server, within: Provider, starts: Starts, sweep: Callable[[Engine], Awaitable[None]]
    ) -> None:
        self._within = within
        self._starts = starts
        self._sweep = sweep
        self._stop = server.timeouts.stop
        self._turn = anyio.Event()

    @property
    def source(self) -> Source:
        return self._within.source

    @property
    def library(self) -> Library | None:
        return self._within.library

    def listing(self) -> Listing:
        listing = self._within.listing()
        return replace(listing, health=self._told(listing.health)) if isinstance(listing.health, Down) else listing

    def _told(self, down: Down) -> Down:
        """The engine's process is no program of the image's: what it could not do is told, not its exit code."""
        last = said_by_engine(down.last_lines)
        if last is None or f"code {ENGINE_FAILED}" not in down.why:
            return down
        return replace(down, why=cannot_run(self._starts.image, last))

    def log(self) -> Sequence[str]:
        return self._within.log()

    def restart(self) -> None:
        self._within.restart()

    def leave(self, why: str) -> None:
        if isinstance(self._within, Leaves):
            self._within.leave(why)

    def call(
        self, admitted: Admitted, progress: Progress | None = None, peer: Peer | None = None
    ) -> Coroutine[Any, Any, Outcome]:
        return self._within.call(admitted, progress, peer)

    async def run(self, ring: Ring) -> None:
        def heard() -> None:
            self._turn.set()
            ring()

        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._tidy, name=f"containers of {self.source}")
                await self._within.run(heard)
        finally:
            # The program was asked to end, and then made to: its container may have heard neither.
            with anyio.CancelScope(shield=True):
                await self._remove(len(self._starts.names))

    async def _tidy(self) -> None:
        while True:
            await self._turn.wait()
            self._turn = anyio.Event()
            if (engine := self._starts.engine) is None:
                continue
            await self._sweep(engine)
            await self._remove(len(self._starts.names) - 1)
            if self._is_over() and (latest := self._starts.names[-1:]):
                # It is given its time to end by itself, and a little more to be gone.
                await anyio.sleep(self._stop + _AFTER)
                if self._is_over() and latest == self._starts.names[-1:]:
                    await self._remove(len(self._starts.names))

    def _is_over(self) -> bool:
        return isinstance(self._within.listing().health, Asleep | Down)

    async def _remove(self, first: int) -> None:
        names = self._starts.names[: max(first, 0)]
        if names and self._starts.engine is not None:
            await remove(self._starts.engine, *names)
            del self._starts.names[: len(names)]
