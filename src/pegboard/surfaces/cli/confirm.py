"""Yes-or-no questions in the terminal."""

import sys
from typing import Final

import anyio
import click

from pegboard.surfaces.cli.output import clean

_ANSWERS: Final = {"y": True, "yes": True, "n": False, "no": False, "": False}


async def ask_yes_no(question: str, *, err: bool = False) -> bool:
    """Only a yes is one: an empty line and the end of input are no. What is neither is asked again.

    The event loop goes on meanwhile, so that Ctrl-C ends the command and servers that it started are served.
    """
    while True:
        click.echo(f"{clean(question)} [y/N]: ", nl=False, err=err)
        line = await _read_line()
        if not line.endswith("\n"):
            click.echo(err=err)
        answer = _ANSWERS.get(line.strip().casefold())
        if answer is not None:
            return answer
        click.echo("Answer with y or n.", err=err)


async def _read_line() -> str:
    if sys.platform != "win32":
        await anyio.wait_readable(sys.stdin)
    return sys.stdin.readline()
