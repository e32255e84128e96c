"""The command lines of the pages, held against what exists: the command tree, the Makefile, and nothing run."""

import importlib.util
import io
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from unittest.mock import patch

import click
from tests.docs.pages import ROOT

from pegboard.surfaces.cli.api import CompositionRoot
from pegboard.surfaces.cli.main import command_tree
from pegboard.surfaces.cli.output import CommandError

OTHER_PROGRAMS: Final = frozenset({"claude", "cp", "export", "generate", "pip", "podman", "rm"})
"""`generate` stands for a program of the reader's own."""
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_]\w*=.*", re.DOTALL)
_OPERATOR: Final = re.compile(r"[();<>|&]+")


def commands(line: str) -> list[list[str]]:
    """The words of each command of a line, without its comment and without variables set for it alone."""
    split = shlex.shlex(line, posix=True, punctuation_chars=True)
    split.whitespace_split = True
    found: list[list[str]] = [[]]
    for word in split:
        if _OPERATOR.fullmatch(word):
            found.append([])
        elif found[-1] or not _ASSIGNMENT.fullmatch(word):
            found[-1].append(word)
    return [words for words in found if words]


def complaint(words: list[str]) -> str | None:
    """What is wrong with one command, or `None`."""
    program, *rest = words
    match program.removeprefix(".venv/bin/"):
        case "pegboard":
            return pegboard_complaint(rest)
        case "make":
            wanted = [word for word in rest if not _ASSIGNMENT.fullmatch(word)]
            missing = sorted({*wanted} - make_targets())
            return f"the Makefile has no target {', '.join(missing)}" if missing else None
        case "python" if rest[:1] == ["-m"]:
            return None if importlib.util.find_spec(rest[1]) else f"there is no module {rest[1]}"
        case other if other in OTHER_PROGRAMS:
            return None
        case other:
            return f"{other!r} is not among the programs that the pages may use"


def make_targets() -> set[str]:
    return {*re.findall(r"^([a-z][\w-]*):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)}


def pegboard_complaint(words: list[str]) -> str | None:
    """Reads the words as the program does, up to the moment at which the command would begin."""
    try:
        # `-` takes the arguments of a call from standard input.
        with (
            patch("sys.stdin", io.TextIOWrapper(io.BytesIO(b"{}"))),
            patch.object(click.Command, "invoke", lambda command, context: None),
        ):
            TREE.main(words, prog_name="pegboard", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError:
        return f"'{' '.join(words)}' is not a whole command"
    except click.ClickException as error:
        return error.format_message()
    except CommandError as ended:
        return ended.message
    return None


def mention_complaint(mention: str) -> str | None:
    """A command named within a sentence may lack its arguments, but it and every option in it must exist."""
    command: click.Command = TREE
    # In a table a pipe is written with a backslash.
    for word in mention.replace("\\|", "|").partition(" | ")[0].split()[1:]:
        inside = click.Context(command)
        if word.startswith("-"):
            known = {name for option in command.get_params(inside) for name in (*option.opts, *option.secondary_opts)}
            if word.partition("=")[0] not in known:
                return f"{command.name} has no option {word}"
        elif isinstance(command, click.Group):
            inner = command.get_command(inside, word)
            if inner is None:
                return f"{command.name} has no command {word}"
            command = inner
    return None


def files_named(words: list[str]) -> Iterator[Path]:
    """Files that a reader has made by then."""
    return (path for word in words if (path := Path(word)).suffix in {".yaml", ".json"} and not path.is_absolute())


def _never() -> CompositionRoot:
    raise AssertionError("a command was run where it should only be read")


TREE: Final = command_tree(_never)
