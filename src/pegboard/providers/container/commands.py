"""Commands of a toolset's images as tools; each call runs in a new container."""

import json
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Final, NoReturn

import anyio

from pegboard.config.paths import make_private_folder
from pegboard.core.calls.call import AdmittedCall, Outcome, ProviderFailure, ToolFailure, ToolSuccess
from pegboard.core.json.values import MAX_JSON_DEPTH, is_deeper_than, materialize
from pegboard.core.model.catalogue import Health, Listing, ProviderAsleep, ProviderDown, ProviderOff, ProviderStart
from pegboard.core.model.ids import SourceKey, ToolId
from pegboard.core.model.tool import MIB, ContainerImage, ContainerTool, OwnTools, Tool, canonical_json
from pegboard.ports.providers import ChangeCallback, ClientPeer, Clock, Expand, Progress, UnresolvedReference, ignore
from pegboard.processes.output import LogTail, SecretFilter, is_secret_name, one_line, substituted_values
from pegboard.providers.container.engine import ContainerEngine, NoEngine, engine_error, last_engine_line, without_noise
from pegboard.providers.container.flags import (
    ContainerNamespace,
    format_seconds,
    image_problem,
    launch_environment,
    run_flags,
    run_line,
    variable_problem,
    wrap_with_launcher,
)
from pegboard.providers.container.run import (
    ContainerExit,
    ContainerLogFile,
    EngineStartError,
    OutputTooLarge,
    run_container,
    temporary_log_file,
)

# What a command wrote, as the answer of a tool: a JSON object is data, everything else is text.

_MAX_LOG_LINES: Final = 10
_KILLED_CODE: Final = 137
ENGINE_FAILED_CODE: Final = 125
_NOT_STARTED_CODES: Final = (126, 127)


def to_outcome(tool: ContainerTool, image: ContainerImage, ended: ContainerExit, source: str, engine: str) -> Outcome:
    if ended.code == 0:
        return _success_outcome(tool, ended.out)
    # By its code alone, what the engine says could be what the program in the container says.
    last = None if ended.has_program_output else last_engine_line(ended.lines, engine)
    if ended.code in (ENGINE_FAILED_CODE, *_NOT_STARTED_CODES) and last is not None:
        if ended.code == ENGINE_FAILED_CODE:
            return ProviderFailure(f"{source} {cannot_run_message(image, last, keep=tool.command)}", False)
        why = engine_error(last, keep=tool.command)
        return ProviderFailure(f"{source} cannot start {tool.command[0]!r} in the image {image.image}: {why}", False)
    return ToolFailure(_result_body(_failure_text(tool, image, ended), failed=True))


def cannot_run_message(image: ContainerImage, last: str, *, keep: tuple[str, ...] = ()) -> str:
    """By the last line of the engine. It reads on from the name of whatever needs the image."""
    why = engine_error(last, keep=keep)
    return f"cannot run the image {image.image}: {why}{_advice(why)}"


def _advice(why: str) -> str:
    if "image not known" in why or "No such image" in why or "Unable to find image" in why:
        return ". Import the toolset again, which fetches it"
    return ""


def _failure_text(tool: ContainerTool, image: ContainerImage, ended: ContainerExit) -> str:
    said = without_noise(ended.lines) or ended.out.decode("utf-8", "replace").splitlines()
    told = "\n".join(one_line(line, 2_000) for line in said[-_MAX_LOG_LINES:])
    how = f"{tool.spec.name} failed with exit code {ended.code}"
    if ended.code == _KILLED_CODE:
        memory = f"{image.memory // MIB} MiB"
        how = f"{tool.spec.name} was killed (exit code 137), most likely because it took more memory than its {memory}"
    return f"{how}:\n{told}" if told else f"{how}."


def _success_outcome(tool: ContainerTool, out: bytes) -> Outcome:
    text = out.strip()
    if (written := _parse_object(text)) is not None:
        if (problem := _schema_problem(tool, written)) is not None:
            told = f"{tool.spec.name} ran, but what it wrote does not fit its output schema"
            return ToolFailure(_result_body(f"{told}: {problem}", failed=True))
        shown = json.dumps(text.decode())
        return ToolSuccess(
            f'{{"content":[{{"type":"text","text":{shown}}}],"structuredContent":{text.decode()}}}'.encode()
        )
    if tool.spec.output_schema is not None:
        what = "nothing" if not text else f"this: {one_line(text.decode('utf-8', 'replace'), 200)}"
        told = f"{tool.spec.name} ran, but did not write the JSON object that its output schema promises"
        return ToolFailure(_result_body(f"{told}. It wrote {what}", failed=True))
    return ToolSuccess(_result_body(out.decode("utf-8", "replace").removesuffix("\n")))


def _result_body(text: str, *, failed: bool = False) -> bytes:
    content = [{"type": "text", "text": text}] if text else []
    return json.dumps({"content": content, **({"isError": True} if failed else {})}).encode()


def _schema_problem(tool: ContainerTool, written: Mapping[str, object]) -> str | None:
    if tool.spec.output_schema is None:
        return None
    import jsonschema_rs  # Only here, because few tools promise what they write.

    schema = json.loads(canonical_json(tool.spec.output_schema))
    try:
        error = next(iter(jsonschema_rs.validator_for(schema).iter_errors(written)), None)
    except (ValueError, jsonschema_rs.ReferencingError):
        return None  # The schema itself is no good: that is for whoever reads it to tell.
    if error is None:
        return None
    where = ".".join(map(str, error.instance_path))
    return one_line(f"{where}: {error.message}" if where else error.message, 300)


def _parse_object(text: bytes) -> dict[str, object] | None:
    """By the letter of the standard, and no deeper than those who read it after us can bear."""
    if not text.startswith(b"{") or is_deeper_than(MAX_JSON_DEPTH, text):
        return None
    try:
        value = json.loads(text.decode(), parse_constant=_reject_constant)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _reject_constant(word: str) -> NoReturn:
    raise ValueError(word)


MAX_OUTPUT_BYTES: Final = 8 * MIB
_RECHECK_INTERVAL_S: Final = 30.0
"""Seconds until an engine or a variable that was not there is looked for again."""
_READY_TEXT: Final = "a call starts a container"


class NotRunnableError(Exception):
    """Why a call cannot run, before anything has."""


class CommandTools:
    """`run` watches whether there is all that a call takes; a call needs nothing else that lasts."""

    resources = None

    def __init__(
        self,
        source: SourceKey,
        own: OwnTools,
        board: ContainerNamespace,
        find: Callable[[], ContainerEngine | NoEngine],
        sweep: Callable[[ContainerEngine], Awaitable[None]],
        expand: Expand,
        clock: Clock,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
    ) -> None:
        self.source = source
        self._toolset = own
        self._board = board
        self._find = find
        self._sweep = sweep
        self._expand = expand
        self._clock = clock
        self._sleep = sleep
        self._by_name = {tool.spec.name: tool for tool in own.commands}
        tools = tuple(Tool(ToolId(source, tool.spec.name), tool.spec) for tool in own.commands)
        self._listing = Listing(source, ProviderStart(1, clock()), tools)
        self._notify: ChangeCallback = ignore
        self._engine: ContainerEngine | None = None
        self._run_scope: anyio.CancelScope | None = None
        self._lines = LogTail()
        self._slots = anyio.Semaphore(max(own.bounds.processes, 1))
        self._calls: dict[anyio.CancelScope, str | None] = {}
        """Each with the reason it was broken off for."""
        self._keeps_log_files: bool | None = None
        self._end_reason: str | None = None

    def listing(self) -> Listing:
        return self._listing

    def log(self) -> Sequence[str]:
        return self._lines.tail()

    def restart(self) -> None:
        if self._run_scope is not None:
            self._cancel_calls("was restarted")
            self._run_scope.cancel()

    def drain(self, why: str) -> None:
        self._cancel_calls(why)

    async def run(self, ring: ChangeCallback) -> None:
        self._notify = ring
        try:
            while True:
                self._end_reason = self._keeps_log_files = None
                with anyio.CancelScope() as self._run_scope:
                    await self._watch()
        finally:
            self._cancel_calls("was stopped")
            self._run_scope = self._engine = None
            self._set_health(ProviderOff())

    async def _watch(self) -> None:
        while (why := self._find_obstacle()) is not None:
            if not isinstance(self._listing.health, ProviderDown) or self._listing.health.why != why:
                self._set_health(ProviderDown(self._clock(), why))
            await self._sleep(_RECHECK_INTERVAL_S)
        self._set_health(ProviderAsleep(self._clock(), _READY_TEXT))
        assert self._engine is not None
        await self._sweep(self._engine)
        await anyio.sleep_forever()

    def _find_obstacle(self) -> str | None:
        """What keeps every call from running, of all that can be known without running anything."""
        found = self._find()
        if isinstance(found, NoEngine):
            self._engine = None
            return found.why
        self._engine = found
        for id in sorted({tool.container for tool in self._toolset.commands}):
            try:
                container_variables(self._image(id), self._expand)
            except NotRunnableError as problem:
                return str(problem)
        return None

    def _image(self, container: str) -> ContainerImage:
        image = self._toolset.containers.get(container)
        if image is None:
            raise NotRunnableError(f"has no container {container!r}")
        if (problem := image_problem(image.image)) is not None:
            raise NotRunnableError(f"cannot run: {problem}")
        return image

    async def call(
        self, admitted: AdmittedCall, progress: Progress | None = None, peer: ClientPeer | None = None
    ) -> Outcome:
        tool = self._by_name.get(admitted.tool.id.name)
        if tool is None:
            return ProviderFailure(
                f"{self.source} has no tool {admitted.tool.id.name!r} now. List the tools again", False
            )
        if tool.spec.fingerprint != admitted.tool.spec.fingerprint:
            return ProviderFailure(
                f"{admitted.tool.id} has changed, and what was approved is not what would run. List the tools again",
                may_have_run=False,
            )
        if self._end_reason is not None or self._engine is None:
            return ProviderFailure(f"{self.source} {self._unavailable_reason()}", may_have_run=False)
        with anyio.CancelScope() as scope:
            self._calls[scope] = None
            try:
                return await self._call_within_limits(tool, self._engine, _arguments_json(admitted))
            finally:
                why = self._calls.pop(scope)
        return ProviderFailure(f"{self.source} {why}", may_have_run=True)

    async def _call_within_limits(self, tool: ContainerTool, engine: ContainerEngine, given: bytes) -> Outcome:
        limit = tool.seconds if tool.seconds is not None else self._toolset.bounds.seconds
        began = False
        try:
            with anyio.fail_after(limit if math.isfinite(limit) else None):
                async with self._slots:
                    began = True
                    return await self._run_tool(tool, engine, given)
        except TimeoutError:
            if began:
                told = f"{self.source} did not answer within {format_seconds(limit)}, and its container was stopped"
                return ProviderFailure(told, may_have_run=True)
            busy = f"{self.source} runs {self._toolset.bounds.processes} calls at a time, and they took longer than"
            return ProviderFailure(f"{busy} {format_seconds(limit)}. Try again later", may_have_run=False)
        except NotRunnableError as problem:
            return ProviderFailure(f"{self.source} {problem}", may_have_run=False)

    async def _run_tool(self, tool: ContainerTool, engine: ContainerEngine, given: bytes) -> Outcome:
        image = self._image(tool.container)
        env, erase = container_variables(image, self._expand)
        with temporary_log_file() if await self._has_log_files(engine) else nullcontext() as record:
            ended = await self._run_container(tool, image, engine, given, env, erase, record)
        self._lines.finish(erase)
        if isinstance(ended, ContainerExit):
            return to_outcome(tool, image, ended, str(self.source), engine.name)
        told = f"{tool.spec.name} wrote more than {MAX_OUTPUT_BYTES // MIB} MiB, and its container was stopped"
        return ProviderFailure(told, may_have_run=True)

    async def _run_container(
        self,
        tool: ContainerTool,
        image: ContainerImage,
        engine: ContainerEngine,
        given: bytes,
        env: Mapping[str, str],
        erase: SecretFilter,
        record: ContainerLogFile | None,
    ) -> ContainerExit | OutputTooLarge:
        name = self._board.fresh_name()
        flags = run_flags(
            image,
            name=name,
            labels=self._board.labels(str(self.source)),
            workspace=prepare_workspace(self._board, str(self.source), image),
            env=bool(env),
            kept=() if record is None else record.flags,
        )
        entrypoint, *arguments = tool.command
        line = run_line(engine, flags, image.image, entrypoint=entrypoint, arguments=arguments)
        try:
            return await run_container(
                engine,
                name,
                wrap_with_launcher(line) if env else line,
                environment=launch_environment(env),
                given=given,
                most=MAX_OUTPUT_BYTES,
                hear=lambda chunk: self._lines.feed(chunk, erase),
                erase=erase,
                record=record,
            )
        except EngineStartError as error:
            raise NotRunnableError(f"cannot start {engine.name}: {error}") from None

    async def _has_log_files(self, engine: ContainerEngine) -> bool:
        if self._keeps_log_files is None:
            try:
                self._keeps_log_files = await engine.can_log_to_file()
            except (OSError, TimeoutError) as error:
                raise NotRunnableError(f"cannot start {engine.name}: {error}") from None
        return self._keeps_log_files

    def _cancel_calls(self, why: str) -> None:
        self._end_reason = why
        for scope, broken in self._calls.items():
            self._calls[scope] = broken or why
            scope.cancel()

    def _unavailable_reason(self) -> str:
        if self._end_reason is not None:
            return self._end_reason
        health = self._listing.health
        return health.why if isinstance(health, ProviderDown) else "is not running"

    def _set_health(self, health: Health) -> None:
        self._listing = Listing(self.source, health, self._listing.tools)
        self._notify()


def container_variables(image: ContainerImage, expand: Expand) -> tuple[Mapping[str, str], SecretFilter]:
    """The container's variables with their references resolved, and the filter that keeps them out of messages. Raises
    `NotRunnableError`.
    """
    env: dict[str, str] = {}
    secrets: set[str] = set()
    for name, text in image.env.items():
        value = expand(text)
        if isinstance(value, UnresolvedReference):
            raise NotRunnableError(f"cannot run: {value.why}")
        if (problem := variable_problem(name, value)) is not None:
            raise NotRunnableError(f"cannot run: {problem}")
        env[name] = value
        secrets.update((value,) if is_secret_name(name) else substituted_values(text, value))
    return env, SecretFilter(secrets)


def prepare_workspace(board: ContainerNamespace, toolset: str, image: ContainerImage) -> Path | None:
    if not image.workspace:
        return None
    folder = board.workspace(toolset)
    if ":" in str(folder):
        raise NotRunnableError(
            "cannot mount its workspace: the data directory's path holds a ':'. Choose another: --data-dir"
        )
    try:
        make_private_folder(folder)
    except OSError as error:
        raise NotRunnableError(f"cannot make its workspace: {error.strerror or 'the folder cannot be made'}") from None
    return folder


def _arguments_json(admitted: AdmittedCall) -> bytes:
    call = admitted.call
    return call.raw if call.raw is not None else json.dumps(dict(call.arguments), default=materialize).encode()
