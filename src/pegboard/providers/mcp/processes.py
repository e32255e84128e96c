"""A server's child process: started with a clean environment, and gone with all it started when it is stopped."""

import os
import sys
from shutil import which

import anyio
from anyio.abc import Process

from pegboard.children import groups
from pegboard.children.environment import inherited
from pegboard.core.server import Stdio

from .trouble import Trouble


async def start(program: Stdio) -> Process:
    """Raises `Trouble` that says which part of the declaration is wrong."""
    environment = {**inherited(), **program.env}
    if any("\0" in text for text in (program.command, *program.args, *environment, *environment.values())):
        # Not every event loop refuses one: some pass on what comes before it.
        raise Trouble("cannot start: its command, an argument or its environment holds a NUL character")
    if program.cwd is not None and not await anyio.Path(program.cwd).is_dir():
        raise Trouble(f"cannot start: the working directory {program.cwd!r} does not exist. Create it or correct cwd")
    command = program.command
    if sys.platform == "win32":
        # CreateProcess finds only .exe by itself, and npx is npx.cmd there.
        command = which(command, path=environment.get("PATH")) or command
    groups.keep_descriptors()
    try:
        # Shielded, because a process that is born while we are cancelled has nobody yet to end it.
        with anyio.CancelScope(shield=True):
            process = await anyio.open_process(
                [command, *program.args], env=environment, cwd=program.cwd, start_new_session=True
            )
    except FileNotFoundError:
        raise Trouble(_not_found(program, environment)) from None
    except PermissionError:
        raise Trouble(f"command {program.command!r} may not be executed. Check its permissions") from None
    except ValueError as error:
        raise Trouble(f"cannot start: {error}") from None
    except OSError as error:
        raise Trouble(f"command {program.command!r} cannot be executed: {error.strerror or error}") from None
    return process


def _not_found(program: Stdio, environment: dict[str, str]) -> str:
    found = which(program.command, path=environment.get("PATH"))
    if found is not None:
        return f"command {program.command!r} names an interpreter in its first line that was not found"
    if os.path.dirname(program.command):
        return f"command {program.command!r} was not found. Correct the path, or install it"
    return f"command {program.command!r} was not found on the PATH. Install it, or write its full path"


async def stop(process: Process, within: float) -> None:
    """The end of its input first, then a request to end, then force; each for its share of the time.

    Whoever is left of its group goes too, even when the server itself left politely.
    """

    async def end_input() -> None:
        if process.stdin is not None:
            await process.stdin.aclose()

    await groups.stop(process, end_input, within)
