"""Everything that runs at once: the upstream and the gateways in front of it, each started and waited for."""

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from benchmarks.gateway.client import AnswerError, Client
from benchmarks.gateway.contenders import Contender
from benchmarks.gateway.peers.environment import Unavailable
from benchmarks.gateway.placement import Placement
from benchmarks.gateway.program import Program, free_port
from benchmarks.gateway.target import HttpUpstream, StdioUpstream, Target, Upstream
from benchmarks.gateway.wire import Endpoint, Era

START_SECONDS = 90.0
POLL_SECONDS = 0.01

Transport = Literal["http", "stdio"]


@dataclass(frozen=True, slots=True)
class Entrant:
    """A gateway that is up and lists every tool."""

    contender: Contender
    program: Program
    endpoint: Endpoint
    tools: int
    first_list_seconds: float


@dataclass(frozen=True, slots=True)
class Absent:
    """A gateway that is not up, and why."""

    contender: Contender
    reason: str


@dataclass(frozen=True, slots=True)
class Field:
    """The gateways in front of one upstream; the upstream's own endpoint where it has one."""

    upstream: Endpoint | None
    entrants: tuple[Entrant | Absent, ...]


@asynccontextmanager
async def field(
    transport: Transport, tools: int, contenders: Sequence[Contender], placement: Placement, folder: Path
) -> AsyncIterator[Field]:
    """The upstream and every contender, up at the same time, one started after the other."""
    with stopped_afterwards() as programs:
        upstream = await started_upstream(transport, tools, placement, folder, programs)
        entrants: dict[str, Entrant | Absent] = {}
        for contender in contenders:
            if contender.beside:
                entrants[contender.key] = _beside(contender, entrants)
            else:
                target = Target(free_port(), tools, upstream)
                entrants[contender.key] = await entered(contender, target, placement, folder, programs)
        endpoint = Endpoint.of(upstream.url) if isinstance(upstream, HttpUpstream) else None
        yield Field(endpoint, tuple(entrants.values()))


@contextmanager
def stopped_afterwards() -> Iterator[list[Program]]:
    """A list for programs: what is in it at the end of the block is stopped, the last one first."""
    programs: list[Program] = []
    try:
        yield programs
    finally:
        for program in reversed(programs):
            program.stop()


def _beside(contender: Contender, entrants: Mapping[str, Entrant | Absent]) -> Entrant | Absent:
    match entrants.get(contender.beside):
        case Entrant() as running:
            endpoint = replace(running.endpoint, headers=contender.headers)
            return replace(running, contender=contender, endpoint=endpoint)
        case Absent(reason=reason):
            return Absent(contender, reason)
        case None:
            return Absent(contender, f"{contender.beside} is not measured in this run")


async def started_upstream(
    transport: Transport, tools: int, placement: Placement, folder: Path, programs: list[Program]
) -> Upstream:
    """Over HTTP a running server; over stdio each gateway starts its own."""
    arguments = ["--tools", str(tools)]
    if placement.load is not None:
        arguments += ["--core", str(placement.load)]
    if transport == "stdio":
        return StdioUpstream(sys.executable, ("-m", "benchmarks.gateway.upstream.stdio", *arguments))
    upstream = HttpUpstream(f"http://127.0.0.1:{(port := free_port())}/mcp")
    command = [sys.executable, "-m", "benchmarks.gateway.upstream.http", "--port", str(port), *arguments]
    programs.append(program := Program(command, core=placement.load, log=folder / f"upstream-{tools}.log"))
    await first_list(program, Endpoint.of(upstream.url), tools)
    return upstream


async def entered(
    contender: Contender, target: Target, placement: Placement, folder: Path, programs: list[Program]
) -> Entrant | Absent:
    """The contender started in front of its target and waited for."""
    own_folder = folder / contender.key
    own_folder.mkdir()
    command = contender.command(target, own_folder)
    if isinstance(command, Unavailable):
        return Absent(contender, command.reason)
    print(f"starting {contender.title} …", file=sys.stderr, flush=True)
    started = time.perf_counter()
    programs.append(program := Program(command, core=placement.gateway, log=own_folder / "log"))
    endpoint = Endpoint.of(target.url, contender.headers)
    try:
        await first_list(program, endpoint, target.tools, contender.eras[-1])
    except AnswerError as problem:
        program.stop()
        return Absent(contender, str(problem))
    return Entrant(contender, program, endpoint, target.tools, time.perf_counter() - started)


async def first_list(program: Program, endpoint: Endpoint, tools: int, era: Era = Era.STATELESS) -> None:
    """Wait until the program lists every tool; AnswerError says what it did instead."""
    problem = "it did not listen"
    try:
        async with asyncio.timeout(START_SECONDS):
            while True:
                client = Client(endpoint, era, 1)
                try:
                    await client.open()
                    listed = await client.listed()
                    if len(listed.names) == tools:
                        return
                    problem = f"it listed {len(listed.names)} tools of {tools}"
                except (OSError, AnswerError) as seen:
                    problem = str(seen)
                finally:
                    client.abandon()
                if (status := program.exit_status) is not None:
                    raise AnswerError(f"it ended with status {status}: {program.last_words()}")
                await asyncio.sleep(POLL_SECONDS)
    except TimeoutError:
        raise AnswerError(f"no complete list within {START_SECONDS:.0f} s: {problem}") from None
