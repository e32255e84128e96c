"""A command line as people copy it from a guide: its words, and what it sets for the program. No shell reads it."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_ASSIGNMENT: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)
_VARIABLE: Final = re.compile(r"(?<!\$)\$([A-Za-z_][A-Za-z0-9_]*)")
_OPERATORS: Final = frozenset({"|", "||", "&", "&&", ";", ">", ">>", "<", "<<", "2>", "2>&1"})
_PAIR_OPTIONS: Final = {"-e": "env", "--env": "env", "-H": "headers", "--header": "headers"}
_TEXT_OPTIONS: Final = {"-t": "transport", "--transport": "transport", "-s": "scope", "--scope": "scope"}


@dataclass(frozen=True)
class CommandLine:
    """A program with its arguments, or an address; and the name it was given."""

    words: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    name: str | None = None
    url: str | None = None
    transport: str | None = None
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class UnclearCommand:
    line: int
    message: str


def parse_command(text: str) -> CommandLine | UnclearCommand:
    lines = [line.strip() for line in re.sub(r"\\\n\s*", " ", text).split("\n")]
    commands = [(number, line) for number, line in enumerate(lines, 1) if line and not line.startswith("#")]
    if len(commands) != 1:
        second = commands[1][0] if commands else 0
        return UnclearCommand(second, "these are several lines, and a command is one. Paste one of them.")
    ((number, line),) = commands
    try:
        words = shlex.split(line.removeprefix("$ ").removeprefix("> "), posix=True)
    except ValueError:
        return UnclearCommand(number, "a quotation mark is opened and not closed. Copy all of the command.")
    operator = next((word for word in words if word in _OPERATORS or word.endswith(";")), None)
    if operator is not None:
        return UnclearCommand(
            number, f"a server is started without a shell, so {operator!r} means nothing. Paste one command."
        )
    words = [_VARIABLE.sub(r"${\1}", word) for word in words]
    env: list[tuple[str, str]] = []
    while words and (found := _ASSIGNMENT.fullmatch(words[0])) is not None:
        env.append((found[1], found[2]))
        words = words[1:]
    if words[:1] == ["env"] and any(_ASSIGNMENT.fullmatch(word) for word in words[1:2]):
        return parse_command(shlex.join([*(f"{name}={value}" for name, value in env), *words[1:]]))
    if not words:
        return UnclearCommand(number, "it sets variables and names no program. Copy all of the command.")
    if words[1:3] == ["mcp", "add"]:
        return _parse_mcp_add(words[3:], tuple(env), number)
    if len(words) == 1 and not re.fullmatch(r"[\w@./~\\:+${}-]+", words[0]):
        return UnclearCommand(number, "this is neither an address (https://…) nor a program with arguments.")
    return CommandLine(tuple(words), tuple(env))


def _parse_mcp_add(words: list[str], env: tuple[tuple[str, str], ...], line: int) -> CommandLine | UnclearCommand:
    """`… mcp add [options] NAME URL | [--] COMMAND ARGS…`, by which other clients' guides tell how to add a server."""
    pairs: dict[str, list[tuple[str, str]]] = {"env": [*env], "headers": []}
    said: dict[str, str] = {}
    plain: list[str] = []
    own = iter(words)
    for word in own:
        option, _, value = word.partition("=") if word.startswith("--") else (word, "", "")
        if option in _PAIR_OPTIONS:
            pairs[_PAIR_OPTIONS[option]] += _parse_pair(value or next(own, ""))
        elif option in _TEXT_OPTIONS:
            said[_TEXT_OPTIONS[option]] = value or next(own, "")
        elif word == "--":
            plain += own
        elif len(plain) >= 2 or not word.startswith("-"):
            plain.append(word)
    if len(plain) < 2:
        return UnclearCommand(line, "it names no server with an address or a command. Copy all of it.")
    name, first, *rest = plain
    if re.match(r"https?://", first, re.IGNORECASE):
        return CommandLine(name=name, url=first, transport=said.get("transport"), headers=tuple(pairs["headers"]))
    return CommandLine((first, *rest), tuple(pairs["env"]), name)


def _parse_pair(text: str) -> Iterator[tuple[str, str]]:
    found = re.fullmatch(r"([^=:\s]+)\s*[=:]\s*(.*)", text, re.DOTALL)
    if found is not None:
        yield found[1], found[2]
