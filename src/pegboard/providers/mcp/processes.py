"""A server's child process: started with a clean environment, and gone with all it started when it is stopped."""

import errno
import os
import sys
from shutil import which
from typing import Final

import anyio

from pegboard.children import groups
from pegboard.children.child import ChildProcess, start_child
from pegboard.children.environment import inherited_environment
from pegboard.core.server import Stdio

from .trouble import McpServerError

_SHELL: Final = "/bin/sh"


async def start_process(program: Stdio) -> ChildProcess:
    """Raises `Trouble` that says which part of the declaration is wrong."""
    environment = {**inherited_environment(), **program.env}
    if any("\0" in text for text in (program.command, *program.args, *environment, *environment.values())):
        raise McpServerError("cannot start: its command, an argument or its environment holds a NUL character")
    if program.cwd is not None and not await anyio.Path(program.cwd).is_dir():
        raise McpServerError(
            f"cannot start: the working directory {program.cwd!r} does not exist. Create it or correct cwd"
        )
    command = program.command
    if sys.platform == "win32":
        # CreateProcess finds only .exe by itself, and npx is npx.cmd there.
        command = which(command, path=environment.get("PATH")) or command
    try:
        # Shielded, because a process that is born while we are cancelled has nobody yet to end it.
        with anyio.CancelScope(shield=True):
            process = await _start_command(command, program, environment)
    except FileNotFoundError:
        raise McpServerError(_not_found_message(program, environment)) from None
    except PermissionError:
        raise McpServerError(f"command {program.command!r} may not be executed. Check its permissions") from None
    except ValueError as error:
        raise McpServerError(f"cannot start: {error}") from None
    except OSError as error:
        raise McpServerError(f"command {program.command!r} cannot be executed: {error.strerror or error}") from None
    return process


async def _start_command(command: str, program: Stdio, environment: dict[str, str]) -> ChildProcess:
    try:
        return await start_child([command, *program.args], environment, program.cwd)
    except OSError as error:
        script = which(command, path=environment.get("PATH")) if error.errno == errno.ENOEXEC else None
        if script is None or not await _is_text_file(script):
            raise
        # A script without a first line that names its interpreter: every shell runs one so.
        return await start_child([_SHELL, script, *program.args], environment, program.cwd)


async def _is_text_file(file: str) -> bool:
    async with await anyio.open_file(file, "rb") as opened:
        head = await opened.read(128)
    return b"\0" not in head and not head.startswith(b"\x7fELF")


def _not_found_message(program: Stdio, environment: dict[str, str]) -> str:
    found = which(program.command, path=environment.get("PATH"))
    if found is not None:
        return f"command {program.command!r} names an interpreter in its first line that was not found"
    if os.path.dirname(program.command):
        return f"command {program.command!r} was not found. Correct the path, or install it"
    return f"command {program.command!r} was not found on the PATH. Install it, or write its full path"


async def stop_process(process: ChildProcess, within: float) -> None:
    """The end of its input first, then a request to end, then force; each for its share of the time.

    Whoever is left of its group goes too, even when the server itself left politely.
    """

    async def end_input() -> None:
        if process.stdin is not None:
            process.stdin.close()

    await groups.stop_process_group(process, end_input, within)
