"""An image that speaks MCP on its input and output: run by the engine as a program, as any other server over stdio.

What an MCP server takes is somebody else's to know; here it is only told which program to start, and the containers of
programs that did not end well are removed after it.
"""

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import replace
from typing import Any, Final

import anyio

from pegboard.config.references import escape_literal
from pegboard.core.calls.call import AdmittedCall, Outcome
from pegboard.core.model.catalogue import Listing, ProviderAsleep, ProviderDown
from pegboard.core.model.ids import SourceKey
from pegboard.core.model.server import Server, Stdio
from pegboard.core.model.tool import ContainerImage
from pegboard.ports.providers import (
    ChangeCallback,
    ClientPeer,
    Drainable,
    Expand,
    Progress,
    Provider,
    ResourceProvider,
    UnresolvedReference,
)
from pegboard.providers.container.commands import (
    ENGINE_FAILED_CODE,
    NotRunnableError,
    cannot_run_message,
    prepare_workspace,
)
from pegboard.providers.container.engine import ContainerEngine, NoEngine, last_engine_line
from pegboard.providers.container.flags import (
    ContainerNamespace,
    image_problem,
    launch_environment,
    run_flags,
    run_line,
    variable_problem,
    wrap_with_launcher,
)
from pegboard.providers.container.run import remove_containers

ENGINE_PLACEHOLDER: Final = "${pegboard:engine}"
FOLDER_PLACEHOLDER: Final = "${pegboard:folder}"
NAME_PLACEHOLDER: Final = "${pegboard:container}"
_REMOVE_DELAY_S: Final = 1.0
"""Seconds."""


class ContainerExpander:
    """What stands for the engine and for a name of its own in the command of one image, at each start anew."""

    def __init__(
        self,
        toolset: str,
        image: ContainerImage,
        board: ContainerNamespace,
        find: Callable[[], ContainerEngine | NoEngine],
        expand: Expand,
    ) -> None:
        self._toolset = toolset
        self.image = image
        self._board = board
        self._find = find
        self._expand = expand
        self._variables = {text: name for name, text in image.env.items()}
        self.engine: ContainerEngine | None = None
        self.names: list[str] = []
        """Of containers that may still be there, the latest last."""

    def __call__(self, text: str) -> str | UnresolvedReference:
        if text == ENGINE_PLACEHOLDER:
            return self._engine_program()
        if text == FOLDER_PLACEHOLDER:
            # Asked for last: the engine was found by now, and its folder made.
            return (self.engine and self.engine.folder) or str(self._board.folder)
        if text == NAME_PLACEHOLDER:
            self.names.append(self._board.fresh_name())
            return self.names[-1]
        value = self._expand(text)
        if text in self._variables and not isinstance(value, UnresolvedReference):
            problem = variable_problem(self._variables[text], value)
            return value if problem is None else UnresolvedReference(f"cannot start: {problem}")
        return value

    def _engine_program(self) -> str | UnresolvedReference:
        if (problem := image_problem(self.image.image)) is not None:
            return UnresolvedReference(f"cannot start: {problem}")
        found = self._find()
        if isinstance(found, NoEngine):
            return UnresolvedReference(found.why)
        try:
            prepare_workspace(self._board, self._toolset, self.image)
        except NotRunnableError as problem:
            return UnresolvedReference(str(problem))
        self.engine = found
        return found.program


def container_stdio(toolset: str, image: ContainerImage, board: ContainerNamespace, engine: ContainerEngine) -> Stdio:
    """The program that runs the image. `ENGINE`, `NAME` and `FOLDER` in it are filled in when it starts."""
    flags = run_flags(
        image,
        name=NAME_PLACEHOLDER,
        labels=board.labels(toolset),
        workspace=board.workspace(toolset) if image.workspace else None,
        env=bool(image.env),
    )
    line = run_line(replace(engine, program=ENGINE_PLACEHOLDER), flags, image.image, arguments=image.args)
    command, *arguments = wrap_with_launcher(line) if image.env else line
    kept = {name: escape_literal(value) for name, value in engine.environment.items()}
    return Stdio(
        command if command == ENGINE_PLACEHOLDER else escape_literal(command),
        # The toolset's own arguments may hold references; everything else stands for itself.
        tuple(
            arg
            if arg in (ENGINE_PLACEHOLDER, NAME_PLACEHOLDER) or at >= len(arguments) - len(image.args)
            else escape_literal(arg)
            for at, arg in enumerate(arguments)
        ),
        {**kept, **launch_environment(image.env)},
        FOLDER_PLACEHOLDER,
    )


class ContainerMcpProvider:
    """The provider of such an image. What it does is done by the one within."""

    def __init__(
        self,
        server: Server,
        within: Provider,
        starts: ContainerExpander,
        sweep: Callable[[ContainerEngine], Awaitable[None]],
    ) -> None:
        self._inner = within
        self._expander = starts
        self._sweep = sweep
        self._stop_timeout = server.timeouts.stop
        self._change_event = anyio.Event()

    @property
    def source(self) -> SourceKey:
        return self._inner.source

    @property
    def resources(self) -> ResourceProvider | None:
        return self._inner.resources

    def listing(self) -> Listing:
        listing = self._inner.listing()
        return (
            replace(listing, health=self._with_engine_error(listing.health))
            if isinstance(listing.health, ProviderDown)
            else listing
        )

    def _with_engine_error(self, down: ProviderDown) -> ProviderDown:
        """The engine's process is no program of the image's: what it could not do is told, not its exit code."""
        last = last_engine_line(down.last_lines)
        if last is None or f"code {ENGINE_FAILED_CODE}" not in down.why:
            return down
        return replace(down, why=cannot_run_message(self._expander.image, last))

    def log(self) -> Sequence[str]:
        return self._inner.log()

    def restart(self) -> None:
        self._inner.restart()

    def drain(self, why: str) -> None:
        if isinstance(self._inner, Drainable):
            self._inner.drain(why)

    def call(
        self, admitted: AdmittedCall, progress: Progress | None = None, peer: ClientPeer | None = None
    ) -> Coroutine[Any, Any, Outcome]:
        return self._inner.call(admitted, progress, peer)

    async def run(self, ring: ChangeCallback) -> None:
        def on_change() -> None:
            self._change_event.set()
            ring()

        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._remove_old_containers, name=f"containers of {self.source}")
                await self._inner.run(on_change)
        finally:
            # The program was asked to end, and then made to: its container may have heard neither.
            with anyio.CancelScope(shield=True):
                await self._remove(len(self._expander.names))

    async def _remove_old_containers(self) -> None:
        while True:
            await self._change_event.wait()
            self._change_event = anyio.Event()
            if (engine := self._expander.engine) is None:
                continue
            await self._sweep(engine)
            await self._remove(len(self._expander.names) - 1)
            if self._is_down() and (latest := self._expander.names[-1:]):
                # It is given its time to end by itself, and a little more to be gone.
                await anyio.sleep(self._stop_timeout + _REMOVE_DELAY_S)
                if self._is_down() and latest == self._expander.names[-1:]:
                    await self._remove(len(self._expander.names))

    def _is_down(self) -> bool:
        return isinstance(self._inner.listing().health, ProviderAsleep | ProviderDown)

    async def _remove(self, first: int) -> None:
        names = self._expander.names[: max(first, 0)]
        if names and self._expander.engine is not None:
            await remove_containers(self._expander.engine, *names)
            del self._expander.names[: len(names)]
