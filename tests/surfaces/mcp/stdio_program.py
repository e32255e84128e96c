"""The gateway of the workshop as a program: `python -m tests.surfaces.mcp.stdio_program [slow] [noisy]`."""

import os
import sys

import anyio
from tests.surfaces.mcp.workshop import BENCH, open_workshop

from pegboard.surfaces.mcp.stdio import serve_stdio


async def main(arguments: list[str]) -> None:
    held = frozenset({BENCH}) if "slow" in arguments else frozenset()
    async with open_workshop(held=held) as workshop, anyio.create_task_group() as tasks:
        if "slow" in arguments:
            tasks.start_soon(release_later, workshop.bench.release)
        if "noisy" in arguments:
            tasks.start_soon(print_noise)
        await serve_stdio(workshop.gateway)
        tasks.cancel_scope.cancel()


async def release_later(release: object) -> None:
    assert callable(release)
    await anyio.sleep(0.3)
    release()


async def print_noise() -> None:
    """What a careless library does: print, and write to the file descriptor itself."""
    await anyio.sleep(0.05)
    print("a library says hello", flush=True)
    os.write(1, b"a child says hello\n")


if __name__ == "__main__":
    anyio.run(main, sys.argv[1:])
