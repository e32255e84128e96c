"""What a person pasted, as servers of ours: an address, a command line, or a piece of any client's list.

Told like a file: every problem says at which line of the text it is and what to do. Nothing is started or looked up.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from pegboard.config.json_text import parse_json
from pegboard.config.masking import is_secret_key
from pegboard.config.problem import FileProblem
from pegboard.config.tree import ListNode, MapEntry, MapNode, Node, ParsedFile, ScalarKind, ScalarNode
from pegboard.config.yaml_text import parse_yaml
from pegboard.core.server import Http, Stdio, require_stdio_or_http

from .command_line import CommandLine, UnclearCommand, parse_command
from .find import read_tree
from .found import ClientApp, ClientServerList
from .naming import suggest_name

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
