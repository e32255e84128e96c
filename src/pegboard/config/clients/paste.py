"""Servers from pasted text: an address, a command line, or part of any client's list. Problems name the line of the
text. Nothing is started or looked up.

Told like a file: every problem says at which line of the text it is and what to do. Nothing is started or looked up.
"""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from pegboard.config.clients.discover import read_tree
from pegboard.config.clients.entry import suggest_name
from pegboard.config.clients.placeholders import ClientApp, ClientServerList
from pegboard.config.masked_servers import is_secret_key
from pegboard.config.schema.document import (
    FileProblem,
    ListNode,
    MapEntry,
    MapNode,
    Node,
    ParsedFile,
    ScalarKind,
    ScalarNode,
)
from pegboard.config.schema.parse import parse_json, parse_yaml
from pegboard.core.model.server import Http, Stdio, require_stdio_or_http

# A command line as people copy it from a guide: its words, and what it sets for the program. No shell reads it.

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


PASTED_FILE_NAME: Final = "pasted text"
MAX_LENGTH: Final = 1_000_000
_FENCE: Final = re.compile(r"\A```[a-zA-Z0-9]*[ \t]*\n(.*?)\n?```\Z", re.DOTALL)
_URL: Final = re.compile(r"https?://\S+", re.IGNORECASE)
_LIST_KEYS: Final = ("mcpServers", "servers", "mcp", "mcp.servers", "projects")
_ENTRY_KEYS: Final = ("command", "url", "serverUrl", "httpUrl")
_YAML: Final = re.compile(r"[\w\"'.-]+:(?:\s|$)")
_UNFILLED_VALUE: Final = re.compile(
    r"<[^<>]+>|\[[^\[\]]+\]|.*\byour[-_ ].*|.*[-_ ]here|x{3,}|\*{3,}|\.{3}|change[-_ ]?me|todo|placeholder",
    re.IGNORECASE,
)
_HINT: Final = (
    "Paste an address (https://…), a command line (npx -y a-server), or a piece of a client's list of servers "
    '({"mcpServers": {…}}).'
)


def read_pasted(text: str, home: Path, platform: str) -> ClientServerList:
    """`home` and `platform` are what placeholders of other clients are read by."""
    if len(text) > MAX_LENGTH:
        return _no_servers(0, f"this is longer than {MAX_LENGTH:,} characters. {_HINT}")
    text = text.replace("\r\n", "\n").strip("\ufeff \t\n")
    fenced = _FENCE.match(text)
    text = text if fenced is None else fenced.group(1).strip()
    if not text:
        return _no_servers(0, f"there is nothing in it. {_HINT}")
    parsed = _parse_text(text)
    if isinstance(parsed, ClientServerList):
        return parsed
    found = read_tree(parsed, PASTED_FILE_NAME, home, platform)
    if not found.servers and not found.problems:
        return _no_servers(0, f"no servers are in it, neither under mcpServers nor under servers. {_HINT}")
    return replace(found, problems=(*found.problems, *_unfilled_values(found)))


def _parse_text(text: str) -> ParsedFile | ClientServerList:
    if _URL.fullmatch(text):
        return _wrap_entry(_entry_node(("url", _text_node(text))))
    if text[0] in '{["':
        bare = text.rstrip().rstrip(",")
        return _wrap_list(parse_json(f"{{{bare}}}" if text[0] == '"' else bare, PASTED_FILE_NAME))
    if _YAML.match(text):
        return _wrap_list(parse_yaml(text, PASTED_FILE_NAME))
    command = parse_command(text)
    if isinstance(command, UnclearCommand):
        return _no_servers(command.line, command.message)
    return _wrap_entry(_command_entry(command), command.name)


def _wrap_list(parsed: ParsedFile) -> ParsedFile:
    """Whatever of a list was copied: all of the file, the map of servers, or one of them."""
    root = parsed.root
    if not isinstance(root, MapNode) or any(root.get(name) is not None for name in _LIST_KEYS):
        return parsed
    if any(isinstance(root.get(key), ScalarNode) for key in _ENTRY_KEYS):
        return replace(_wrap_entry(root), problems=parsed.problems)
    if root.entries and all(isinstance(entry.value, MapNode) for entry in root.entries):
        return replace(parsed, root=_wrap_servers(root))
    return parsed


def _wrap_entry(entry: MapNode, name: str | None = None) -> ParsedFile:
    said = entry.get("name")
    own = said.text if isinstance(said, ScalarNode) and said.kind is ScalarKind.TEXT and said.text else None
    words = [node.text for key in _ENTRY_KEYS if isinstance(node := entry.get(key), ScalarNode)]
    args = entry.get("args")
    words += [item.text for item in args.items if isinstance(item, ScalarNode)] if isinstance(args, ListNode) else []
    called = name or own or suggest_name(words)
    return ParsedFile(_wrap_servers(MapNode((MapEntry(called, entry.line, entry),), entry.line)))


def _wrap_servers(servers: MapNode) -> MapNode:
    return MapNode((MapEntry("mcpServers", servers.line, servers),), servers.line)


def _command_entry(command: CommandLine) -> MapNode:
    env = MapNode(tuple(MapEntry(name, 1, _text_node(value)) for name, value in command.env), 1)
    headers = MapNode(tuple(MapEntry(name, 1, _text_node(value)) for name, value in command.headers), 1)
    members: list[tuple[str, Node]] = []
    if command.url is not None:
        members += [("url", _text_node(command.url)), *([("headers", headers)] if headers.entries else [])]
        members += [("type", _text_node(command.transport))] if command.transport else []
    else:
        program, *args = command.words
        members += [("command", _text_node(program)), ("args", ListNode(tuple(map(_text_node, args)), 1))]
        members += [("env", env)] if env.entries else []
    return _entry_node(*members)


def _entry_node(*members: tuple[str, Node]) -> MapNode:
    return MapNode(tuple(MapEntry(key, 1, value) for key, value in members), 1)


def _text_node(text: str) -> ScalarNode:
    return ScalarNode(ScalarKind.TEXT, text, 1)


def _no_servers(line: int, what: str) -> ClientServerList:
    return ClientServerList(
        ClientApp.UNKNOWN, Path(PASTED_FILE_NAME), problems=(FileProblem(PASTED_FILE_NAME, line, "", what),)
    )


def _unfilled_values(found: ClientServerList) -> Iterator[FileProblem]:
    """Guides leave a place for what is one's own, and a server started with it says little of why it fails."""
    for server, key in zip(found.servers, found.keys, strict=True):
        match require_stdio_or_http(server.connection):
            case Stdio(_, _, values):
                at = f"{key}.env"
            case Http(_, _, values):
                at = f"{key}.headers"
        for name, value in values.items():
            own = value.removeprefix("Bearer ").strip()
            if _UNFILLED_VALUE.fullmatch(own) or (is_secret_key(name) and not own):
                yield FileProblem(
                    PASTED_FILE_NAME, 0, f"{at}.{name}", "this looks like a blank. Put a value of your own there."
                )
