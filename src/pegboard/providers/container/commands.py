"""The commands of a toolset's images as tools: each call runs in a container of its own, which is gone after it."""

import json
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Final

import anyio

from pegboard.children.erasing import Eraser, inserted, names_a_secret
from pegboard.children.lines import LastLines
from pegboard.config.private_files import make_private_folder
from pegboard.core.call import Admitted, Outcome, ProviderFailed
from pegboard.core.catalogue import Asleep, Down, Health, Listing, Off, Starting
from pegboard.core.folded import plain
from pegboard.core.ids import Source, ToolId
from pegboard.core.own import MIB, ContainerTool, Image, Own
from pegboard.core.tool import Tool
from pegboard.ports import Clock, Expand, Peer, Progress, Ring, Unresolved

from .answers import answer
from .box import (
    Board,
    image_problem,
    launch_environment,
    launched,
    run_flags,
    run_line,
    variable_problem,
    whole_seconds,
)
from .engine import Engine, NoEngine
from .running import CannotRun, Ended, TooMuch, run
from .written import Record, recording

MOST_OUTPUT: Final = 8 * MIB
_LOOK_AGAIN: Final = 30.0
"""Seconds until an engine or a variable that was not there is looked for again."""
_READY: Final = "a call starts a container"


class NotNow(Exception):  # noqa: N818 - it is told as a sentence
    """Why a call cannot run, before anything has."""


class Commands:
    """`run` watches whether there is all that a call takes; a call needs nothing else that lasts."""

    library = None

    def __init__(
        self,
        source: Source,
        own: Own,
        board: Board,
        find: Callable[[], Engine | NoEngine],
        sweep: Callable[[Engine], Awaitable[None]],
        expand: Expand,
        clock: Clock,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
    ) -> None:
        self.source = source
        self._own = own
        self._board = board
        self._find = find
        self._sweep = sweep
        self._expand = expand
        self._clock = clock
        self._sleep = sleep
        self._by_name = {tool.spec.name: tool for tool in own.commands}
        tools = tuple(Tool(ToolId(source, tool.spec.name), tool.spec) for tool in own.commands)
        self._listing = Listing(source, Starting(1, clock()), tools)
        self._ring: Ring = _unheard
        self._engine: Engine | None = None
        self._round: anyio.CancelScope | None = None
        self._lines = LastLines()
        self._room = anyio.Semaphore(max(own.bounds.processes, 1))
        self._calls: dict[anyio.CancelScope, str | None] = {}
        """Each with the reason it was broken off for."""
        self._records: bool | None = None
        self._ending: str | None = None

    def listing(self) -> Listing:
        return self._listing

    def log(self) -> Sequence[str]:
        return self._lines.all()

    def restart(self) -> None:
        if self._round is not None:
            self._break_off("was restarted")
            self._round.cancel()

    def leave(self, why: str) -> None:
        self._break_off(why)

    async def run(self, ring: Ring) -> None:
        self._ring = ring
        try:
            while True:
                self._ending = self._records = None
                with anyio.CancelScope() as self._round:
                    await self._stay()
        finally:
            self._break_off("was stopped")
            self._round = self._engine = None
            self._become(Off())

    async def _stay(self) -> None:
        while (why := self._lack()) is not None:
            if not isinstance(self._listing.health, Down) or self._listing.health.why != why:
                self._become(Down(self._clock(), why))
            await self._sleep(_LOOK_AGAIN)
        self._become(Asleep(self._clock(), _READY))
        assert self._engine is not None
        await self._sweep(self._engine)
        await anyio.sleep_forever()

    def _lack(self) -> str | None:
        """What keeps every call from running, of all that can be known without running anything."""
        found = self._find()
        if isinstance(found, NoEngine):
            self._engine = None
            return found.why
        self._engine = found
        for id in sorted({tool.container for tool in self._own.commands}):
            try:
                variables(self._image(id), self._expand)
            except NotNow as problem:
                return str(problem)
        return None

    def _image(self, container: str) -> Image:
        image = self._own.containers.get(container)
        if image is None:
            raise NotNow(f"has no container {container!r}")
        if (problem := image_problem(image.image)) is not None:
            raise NotNow(f"cannot run: {problem}")
        return image

    async def call(self, admitted: Admitted, progress: Progress | None = None, peer: Peer | None = None) -> Outcome:
        tool = self._by_name.get(admitted.tool.id.name)
        if tool is None:
            return ProviderFailed(
                f"{self.source} has no tool {admitted.tool.id.name!r} now. List the tools again", False
            )
        if tool.spec.fingerprint != admitted.tool.spec.fingerprint:
            return ProviderFailed(
                f"{admitted.tool.id} has changed, and what was approved is not what would run. List the tools again",
                may_have_run=False,
            )
        if self._ending is not None or self._engine is None:
            return ProviderFailed(f"{self.source} {self._absence()}", may_have_run=False)
        with anyio.CancelScope() as scope:
            self._calls[scope] = None
            try:
                return await self._called(tool, self._engine, _given(admitted))
            finally:
                why = self._calls.pop(scope)
        return ProviderFailed(f"{self.source} {why}", may_have_run=True)

    async def _called(self, tool: ContainerTool, engine: Engine, given: bytes) -> Outcome:
        limit = tool.seconds if tool.seconds is not None else self._own.bounds.seconds
        began = False
        try:
            with anyio.fail_after(limit if math.isfinite(limit) else None):
                async with self._room:
                    began = True
                    return await self._run(tool, engine, given)
        except TimeoutError:
            if began:
                told = f"{self.source} did not answer within {whole_seconds(limit)}, and its container was stopped"
                return ProviderFailed(told, may_have_run=True)
            busy = f"{self.source} runs {self._own.bounds.processes} calls at a time, and they took longer than"
            return ProviderFailed(f"{busy} {whole_seconds(limit)}. Try again later", may_have_run=False)
        except NotNow as problem:
            return ProviderFailed(f"{self.source} {problem}", may_have_run=False)

    async def _run(self, tool: ContainerTool, engine: Engine, given: bytes) -> Outcome:
        image = self._image(tool.container)
        env, erase = variables(image, self._expand)
        with recording() if await self._keeps(engine) else nullcontext() as record:
            ended = await self._ran(tool, image, engine, given, env, erase, record)
        self._lines.end(erase)
        if isinstance(ended, Ended):
            return answer(tool, image, ended, str(self.source), engine.name)
        told = f"{tool.spec.name} wrote more than {MOST_OUTPUT // MIB} MiB, and its container was stopped"
        return ProviderFailed(told, may_have_run=True)

    async def _ran(
        self,
        tool: ContainerTool,
        image: Image,
        engine: Engine,
        given: bytes,
        env: Mapping[str, str],
        erase: Eraser,
        record: Record | None,
    ) -> Ended | TooMuch:
        name = self._board.fresh_name()
        flags = run_flags(
            image,
            name=name,
            labels=self._board.labels(str(self.source)),
            workspace=workspace(self._board, str(self.source), image),
            env=bool(env),
            kept=() if record is None else record.flags,
        )
        entrypoint, *arguments = tool.command
        line = run_line(engine, flags, image.image, entrypoint=entrypoint, arguments=arguments)
        try:
            return await run(
                engine,
                name,
                launched(line) if env else line,
                environment=launch_environment(env),
                given=given,
                most=MOST_OUTPUT,
                hear=lambda chunk: self._lines.feed(chunk, erase),
                erase=erase,
                record=record,
            )
        except CannotRun as error:
            raise NotNow(f"cannot start {engine.name}: {error}") from None

    async def _keeps(self, engine: Engine) -> bool:
        if self._records is None:
            try:
                self._records = await engine.keeps_records()
            except (OSError, TimeoutError) as error:
                raise NotNow(f"cannot start {engine.name}: {error}") from None
        return self._records

    def _break_off(self, why: str) -> None:
        self._ending = why
        for scope, broken in self._calls.items():
            self._calls[scope] = broken or why
            scope.cancel()

    def _absence(self) -> str:
        if self._ending is not None:
            return self._ending
        health = self._listing.health
        return health.why if isinstance(health, Down) else "is not running"

    def _become(self, health: Health) -> None:
        self._listing = Listing(self.source, health, self._listing.tools)
        self._ring()


def variables(image: Image, expand: Expand) -> tuple[Mapping[str, str], Eraser]:
    """The container's variables with their references read, and what keeps them out of messages. Raises `NotNow`."""
    env: dict[str, str] = {}
    secrets: set[str] = set()
    for name, text in image.env.items():
        value = expand(text)
        if isinstance(value, Unresolved):
            raise NotNow(f"cannot run: {value.why}")
        if (problem := variable_problem(name, value)) is not None:
            raise NotNow(f"cannot run: {problem}")
        env[name] = value
        secrets.update((value,) if names_a_secret(name) else inserted(text, value))
    return env, Eraser(secrets)


def workspace(board: Board, toolset: str, image: Image) -> Path | None:
    if not image.workspace:
        return None
    folder = board.workspace(toolset)
    if ":" in str(folder):
        raise NotNow("cannot mount its workspace: the data directory's path holds a ':'. Choose another: --data-dir")
    try:
        make_private_folder(folder)
    except OSError as error:
        raise NotNow(f"cannot make its workspace: {error.strerror or 'the folder cannot be made'}") from None
    return folder


def _given(admitted: Admitted) -> bytes:
    call = admitted.call
    return call.raw if call.raw is not None else json.dumps(dict(call.arguments), default=plain).encode()


def _unheard() -> None:
    """Nobody listens before `run`."""
