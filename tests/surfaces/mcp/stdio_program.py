"""The gateway of the workshop as a program: `python -m tests.surfaces.mcp.stdio_program [noisy] [meta|search|auto]`."""

import sys
from functools import partial

import anyio
from tests.surfaces.mcp.bench import Bench, returned, tool
from tests.surfaces.mcp.workshop import BENCH, SHELVES, open_workshop

from pegboard.core.calls.call import Arguments, Outcome
from pegboard.core.model.settings import PresentationMode
from pegboard.core.model.tool import ToolSpec
from pegboard.ports.providers import Progress
from pegboard.surfaces.mcp.presentations.registry import presentation_of
from pegboard.surfaces.mcp.stdio import serve_stdio


async def shout(bench: Bench, arguments: Arguments, progress: Progress | None) -> Outcome:
    """What a careless library does: print, and have a child of it write where its parent wrote."""
    print("a library says hello", flush=True)
    await anyio.run_process(["echo", "a child says hello"], stdout=None)
    assert sys.stdin.read() == ""
    return returned("shouted")


NOISY = {**SHELVES, BENCH: {**SHELVES[BENCH], "shout": (tool(BENCH, ToolSpec("shout")), shout)}}


async def main(arguments: list[str]) -> None:
    async with open_workshop(shelves=NOISY if "noisy" in arguments else SHELVES) as workshop:
        presented = next((each for each in PresentationMode if each in arguments), PresentationMode.DIRECT)
        await serve_stdio(workshop.gateway, present=partial(presentation_of, presented))


if __name__ == "__main__":
    anyio.run(main, sys.argv[1:])
