"""The program around the commands: every ending becomes one exit code and one message, in words or as JSON."""

import os
import sys
from collections.abc import Sequence
from contextlib import suppress

import click

from .output import CommandError, CommandExit, Exit, print_json, print_progress


def run(tree: click.Command, args: Sequence[str]) -> int:
    """The exit code. No traceback is shown for what a user, a server or the system can cause."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError):
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # a test's stream may lack it
    try:
        code = _run_command(tree, list(args))
        sys.stdout.flush()
    except CommandExit as ending:
        code = ending.code
    except BrokenPipeError:
        code = Exit.READER_LEFT
    if code == Exit.READER_LEFT:
        _detach_stdout()
    return int(code)


def _run_command(tree: click.Command, args: list[str]) -> int:
    try:
        ended = tree.main(args, prog_name="pegboard", standalone_mode=False)
    except CommandError as end:
        return _report_end(args, end.code, end.message, {**end.details})
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return Exit.USAGE
    except click.UsageError as error:
        if wants_json(args):
            return _report_end(args, Exit.USAGE, error.format_message(), {})
        error.show()
        return Exit.USAGE
    except click.ClickException as error:
        return _report_end(args, Exit.FAILED, error.format_message(), {})
    except (click.Abort, KeyboardInterrupt):
        return Exit.INTERRUPTED
    return ended if isinstance(ended, int) else Exit.OK


def _report_end(args: Sequence[str], code: int, message: str, more: dict[str, object]) -> int:
    if wants_json(args):
        print_json({"error": message, "exit": int(code), **more}, indent=None)
    else:
        print_progress(f"pegboard: {message}")
    return code


def wants_json(args: Sequence[str]) -> bool:
    """What stands after `--` belongs to somebody else. `stdio` has nothing but its protocol on standard output."""
    own = list(args)[: list(args).index("--")] if "--" in args else list(args)
    return "--json" in own and own[:1] != ["stdio"]


def _detach_stdout() -> None:
    """Or Python would try once more to write what nobody reads, and complain."""
    with suppress(OSError, ValueError):
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, sys.stdout.fileno())
