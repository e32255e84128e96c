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
from pegboard.config.problem import Problem
from pegboard.config.tree import Entry, Items, Kind, Node, Parsed, Scalar, Table
from pegboard.config.yaml_text import parse_yaml
from pegboard.core.server import Http, Stdio, plainly_reached

from .command_line import Command, Unclear, command_of
from .find import read_tree
from .found import Client, Found
from .naming import name_of

PASTED: Final = "pasted text"
MOST: Final = 1_000_000
_FENCE: Final = re.compile(r"\A```[a-zA-Z0-9]*[ \t]*\n(.*?)\n?```\Z", re.DOTALL)
_URL: Final = re.compile(r"https?://\S+", re.IGNORECASE)
_LISTS: Final = ("mcpServers", "servers", "mcp", "mcp.servers", "projects")
_ENTRY: Final = ("command", "url", "serverUrl", "httpUrl")
_YAML: Final = re.compile(r"[\w\"'.-]+:(?:\s|$)")
_BLANK: Final = re.compile(
    r"<[^<>]+>|\[[^\[\]]+\]|.*\byour[-_ ].*|.*[-_ ]here|x{3,}|\*{3,}|\.{3}|change[-_ ]?me|todo|placeholder",
    re.IGNORECASE,
)
_WHAT: Final = (
    "Paste an address (https://…), a command line (npx -y a-server), or a piece of a client's list of servers "
    '({"mcpServers": {…}}).'
)


def read_pasted(text: str, home: Path, platform: str) -> Found:
    """`home` and `platform` are what placeholders of other clients are read by."""
    if len(text) > MOST:
        return _nothing(0, f"this is longer than {MOST:,} characters. {_WHAT}")
    text = text.replace("\r\n", "\n").strip("\ufeff \t\n")
    fenced = _FENCE.match(text)
    text = text if fenced is None else fenced.group(1).strip()
    if not text:
        return _nothing(0, f"there is nothing in it. {_WHAT}")
    parsed = _parsed(text)
    if isinstance(parsed, Found):
        return parsed
    found = read_tree(parsed, PASTED, home, platform)
    if not found.servers and not found.problems:
        return _nothing(0, f"no servers are in it, neither under mcpServers nor under servers. {_WHAT}")
    return replace(found, problems=(*found.problems, *_blanks(found)))


def _parsed(text: str) -> Parsed | Found:
    if _URL.fullmatch(text):
        return _alone(_entry(("url", _text(text))))
    if text[0] in '{["':
        bare = text.rstrip().rstrip(",")
        return _listed(parse_json(f"{{{bare}}}" if text[0] == '"' else bare, PASTED))
    if _YAML.match(text):
        return _listed(parse_yaml(text, PASTED))
    command = command_of(text)
    if isinstance(command, Unclear):
        return _nothing(command.line, command.what)
    return _alone(_started(command), command.name)


def _listed(parsed: Parsed) -> Parsed:
    """Whatever of a list was copied: all of the file, the map of servers, or one of them."""
    root = parsed.root
    if not isinstance(root, Table) or any(root.get(name) is not None for name in _LISTS):
        return parsed
    if any(isinstance(root.get(key), Scalar) for key in _ENTRY):
        return replace(_alone(root), problems=parsed.problems)
    if root.entries and all(isinstance(entry.value, Table) for entry in root.entries):
        return replace(parsed, root=_map(root))
    return parsed


def _alone(entry: Table, name: str | None = None) -> Parsed:
    said = entry.get("name")
    own = said.text if isinstance(said, Scalar) and said.kind is Kind.TEXT and said.text else None
    words = [node.text for key in _ENTRY if isinstance(node := entry.get(key), Scalar)]
    args = entry.get("args")
    words += [item.text for item in args.nodes if isinstance(item, Scalar)] if isinstance(args, Items) else []
    called = name or own or name_of(words)
    return Parsed(_map(Table((Entry(called, entry.line, entry),), entry.line)))


def _map(servers: Table) -> Table:
    return Table((Entry("mcpServers", servers.line, servers),), servers.line)


def _started(command: Command) -> Table:
    env = Table(tuple(Entry(name, 1, _text(value)) for name, value in command.env), 1)
    headers = Table(tuple(Entry(name, 1, _text(value)) for name, value in command.headers), 1)
    members: list[tuple[str, Node]] = []
    if command.url is not None:
        members += [("url", _text(command.url)), *([("headers", headers)] if headers.entries else [])]
        members += [("type", _text(command.transport))] if command.transport else []
    else:
        program, *args = command.words
        members += [("command", _text(program)), ("args", Items(tuple(map(_text, args)), 1))]
        members += [("env", env)] if env.entries else []
    return _entry(*members)


def _entry(*members: tuple[str, Node]) -> Table:
    return Table(tuple(Entry(key, 1, value) for key, value in members), 1)


def _text(text: str) -> Scalar:
    return Scalar(Kind.TEXT, text, 1)


def _nothing(line: int, what: str) -> Found:
    return Found(Client.UNKNOWN, Path(PASTED), problems=(Problem(PASTED, line, "", what),))


def _blanks(found: Found) -> Iterator[Problem]:
    """Guides leave a place for what is one's own, and a server started with it says little of why it fails."""
    for server, key in zip(found.servers, found.keys, strict=True):
        match plainly_reached(server.connection):
            case Stdio(_, _, values):
                at = f"{key}.env"
            case Http(_, _, values):
                at = f"{key}.headers"
        for name, value in values.items():
            own = value.removeprefix("Bearer ").strip()
            if _BLANK.fullmatch(own) or (is_secret_key(name) and not own):
                yield Problem(PASTED, 0, f"{at}.{name}", "this looks like a blank. Put a value of your own there.")
