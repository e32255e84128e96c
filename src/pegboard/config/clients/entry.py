"""One entry of another client's server list as a server of pegboard.yaml."""

import os
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, assert_never
from urllib.parse import urlsplit

from pegboard.config.clients.placeholders import PlaceholderTranslator, absolute_path
from pegboard.config.references import escape_literal
from pegboard.config.schema.document import (
    FileProblem,
    ListNode,
    MapNode,
    Node,
    ScalarKind,
    ScalarNode,
    describe_node,
    join_key,
)
from pegboard.core.model.ids import ID_RULE, RESERVED_TOOLSETS, ServerId, ServerKey, ToolsetId
from pegboard.core.model.server import (
    AllButTools,
    Connection,
    DeclaredAt,
    EveryTool,
    Http,
    OnlyTools,
    Server,
    Stdio,
    ToolFilter,
    Transport,
    is_transport_header,
    require_stdio_or_http,
)

_TRANSPORTS: Final = {
    "http": Transport.STREAMABLE_HTTP,
    "streamable-http": Transport.STREAMABLE_HTTP,
    "streamable_http": Transport.STREAMABLE_HTTP,
    "streamablehttp": Transport.STREAMABLE_HTTP,
    "remote": Transport.STREAMABLE_HTTP,
    "sse": Transport.SSE,
}
_STDIO_TYPES: Final = ("stdio", "local")
_URL_KEYS: Final = ("url", "serverUrl", "httpUrl")
_SUPPORTED_KEYS: Final = frozenset(
    {*("type", "transport", "command", "args", "env", "cwd", "headers", "disabled", "enabled"), *_URL_KEYS}
    | {"disabledTools", "enabledTools", "name", "description"}
)
_OWN_URL: Final = re.compile(r"https?://(?:127\.0\.0\.1|localhost|\[::1\]|0\.0\.0\.0):8460(?:/.*)?", re.IGNORECASE)
_RUNNERS: Final = re.compile(r"(?:uvx?|pipx|python[0-9.]*|py)(?:\.exe)?", re.IGNORECASE)


@dataclass
class ClientListReader:
    """One list being read: whose it is, and what there is to say of it."""

    file: str
    placeholders: PlaceholderTranslator
    disabled_names: frozenset[str] = frozenset()
    problems: list[FileProblem] = field(default_factory=list[FileProblem])
    keys: list[str] = field(default_factory=list[str])
    """Of each server that was taken."""

    def add_problem(self, line: int, at: str, what: str) -> None:
        self.problems.append(FileProblem(self.file, line, at, what))

    def servers(self, node: Node | None, at: str) -> Iterator[Server]:
        """All that can be converted; an entry that cannot be is told and hides no other."""
        if node is None or (isinstance(node, ScalarNode) and node.kind is ScalarKind.NULL):
            return
        if not isinstance(node, MapNode):
            self.add_problem(
                node.line, at, f"this should be a map of servers, and it is {describe_node(node)}. Nothing was taken."
            )
            return
        for entry in node.entries:
            here = join_key(at, entry.key)
            if not isinstance(entry.value, MapNode):
                self.add_problem(
                    entry.line,
                    here,
                    f"this should describe a server, and it is {describe_node(entry.value)}. Left out.",
                )
                continue
            connection = self.connection(entry.value, here)
            if connection is None:
                continue
            if is_pegboard(connection):
                self.add_problem(
                    entry.line, here, "this is Pegboard itself, which cannot be one of its own servers. Left out."
                )
                continue
            id = slug(entry.key)
            if id != entry.key:
                self.add_problem(entry.line, here, f"its id becomes {id!r}: an id has {ID_RULE}.")
            off = (
                self.boolean_value(entry.value, "disabled") is True
                or self.boolean_value(entry.value, "enabled") is False
            )
            self.keys.append(here)
            yield Server(
                key=ServerKey(ToolsetId(id), ServerId(id)),
                connection=connection,
                origin=DeclaredAt(self.file, entry.line),
                enabled=not off and entry.key not in self.disabled_names,
                limit=self.limit(entry.value, here),
            )
            self.report_dropped(entry.value, here)

    def connection(self, entry: MapNode, at: str) -> Connection | None:
        kind = self.text_value(entry, "type") or self.text_value(entry, "transport")
        url_key = next((key for key in _URL_KEYS if entry.get(key) is not None), None)
        command = entry.get("command")
        if command is not None and (kind is None or kind.lower() in _STDIO_TYPES):
            return self.stdio(entry, command, at)
        if url_key is not None and (kind is None or kind.lower() in _TRANSPORTS):
            return self.http(entry, url_key, kind, at)
        if kind is not None and kind.lower() not in (*_STDIO_TYPES, *_TRANSPORTS):
            what = f"its type {kind[:32]!r} is not one Pegboard speaks: stdio, http and sse are. Left out."
        else:
            what = "it has neither the command nor the url that its type needs. Left out."
        self.add_problem(entry.line, at, what)
        return None

    def stdio(self, entry: MapNode, command: Node, at: str) -> Stdio | None:
        env = self.pairs(entry, "env", at)
        own = frozenset(name for name, _ in env)
        program = self.text(command, join_key(at, "command"), own)
        if not program:
            self.add_problem(command.line, join_key(at, "command"), "the command is empty or no text. Left out.")
            return None
        args = self.args(entry.get("args"), join_key(at, "args"), own)
        folder = self.placeholders.folder
        cwd = entry.get("cwd")
        written = None if cwd is None else self.text(cwd, join_key(at, "cwd"), own)
        if written is not None:
            where: str | None = absolute_path(written, folder)
        else:
            # Any argument may be a path without looking like one, as in `python3 srv.py`.
            where = None if folder is None else escape_literal(str(folder))
        return Stdio(
            command=absolute_path(program, folder) if _is_relative_path(program) else program,
            args=args,
            # A value speaks of the client's environment, even where it has the name it is given to.
            env=self.texts(env, join_key(at, "env"), frozenset()),
            cwd=where,
        )

    def http(self, entry: MapNode, url_key: str, kind: str | None, at: str) -> Http | None:
        node = entry.get(url_key)
        here = join_key(at, url_key)
        url = "" if node is None else self.text(node, here, frozenset()) or ""
        line = entry.line if node is None else node.line
        if not re.match(r"https?://|\$\{", url, re.IGNORECASE):
            self.add_problem(line, here, "this is no http or https URL. Left out.")
            return None
        transport = _TRANSPORTS[kind.lower()] if kind is not None else Transport.STREAMABLE_HTTP
        if kind is None and _ends_in_sse(url):
            transport = Transport.SSE
            self.add_problem(line, here, "it does not say its type; taken for sse, as its path ends so.")
        return Http(url, transport, self.headers(entry, join_key(at, "headers"), at))

    def headers(self, entry: MapNode, here: str, at: str) -> dict[str, str]:
        """Without what the transport writes itself, as many people write it too."""
        pairs = self.pairs(entry, "headers", at)
        for name, value in pairs:
            if is_transport_header(name):
                self.add_problem(
                    value.line, join_key(here, name), "Pegboard writes this header itself; it is not carried over."
                )
        return self.texts([pair for pair in pairs if not is_transport_header(pair[0])], here, frozenset())

    def args(self, node: Node | None, at: str, own: frozenset[str]) -> tuple[str, ...]:
        if node is None:
            return ()
        if not isinstance(node, ListNode):
            self.add_problem(node.line, at, f"this should be a list, and it is {describe_node(node)}. Not taken.")
            return ()
        texts = (self.text(item, f"{at}[{place}]", own) for place, item in enumerate(node.items))
        return tuple(text for text in texts if text is not None)

    def pairs(self, entry: MapNode, key: str, at: str) -> list[tuple[str, Node]]:
        node = entry.get(key)
        if node is None or (isinstance(node, ScalarNode) and node.kind is ScalarKind.NULL):
            return []
        if not isinstance(node, MapNode):
            self.add_problem(
                node.line, join_key(at, key), f"this should be a map, and it is {describe_node(node)}. Not taken."
            )
            return []
        return [(one.key, one.value) for one in node.entries]

    def texts(self, pairs: list[tuple[str, Node]], at: str, own: frozenset[str]) -> dict[str, str]:
        read = ((name, self.text(value, join_key(at, name), own)) for name, value in pairs)
        return {name: text for name, text in read if text is not None}

    def text(self, node: Node, at: str, own: frozenset[str]) -> str | None:
        if not isinstance(node, ScalarNode) or node.kind is ScalarKind.NULL:
            self.add_problem(node.line, at, f"this should be a text, and it is {describe_node(node)}. Not taken.")
            return None
        text, notes = self.placeholders.translate(node.text, own)
        for note in notes:
            self.add_problem(node.line, at, note)
        return text

    def limit(self, entry: MapNode, at: str) -> ToolFilter:
        for key, limit in (("enabledTools", OnlyTools), ("disabledTools", AllButTools)):
            node = entry.get(key)
            if isinstance(node, ListNode):
                names = tuple(item.text for item in node.items if isinstance(item, ScalarNode) and item.text)
                if names or limit is OnlyTools:
                    return limit(names)
            elif node is not None:
                self.add_problem(
                    node.line, join_key(at, key), f"this should be a list, and it is {describe_node(node)}. Not taken."
                )
        return EveryTool()

    def report_dropped(self, entry: MapNode, at: str) -> None:
        for one in entry.entries:
            if one.key == "envFile":
                what = "this is not carried over. Write what the file sets under env, as NAME: ${NAME}."
                self.add_problem(one.line, join_key(at, one.key), what)
            elif one.key not in _SUPPORTED_KEYS:
                self.add_problem(
                    one.line, join_key(at, one.key), "Pegboard has nothing like this; it is not carried over."
                )

    def text_value(self, entry: MapNode, key: str) -> str | None:
        node = entry.get(key)
        return node.text if isinstance(node, ScalarNode) and node.kind is ScalarKind.TEXT else None

    def boolean_value(self, entry: MapNode, key: str) -> bool | None:
        node = entry.get(key)
        return node.text.lower() == "true" if isinstance(node, ScalarNode) and node.kind is ScalarKind.BOOLEAN else None


def slug(name: str) -> str:
    """An id that our rule allows, as near to the name as can be."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    id = re.sub(r"[^a-z0-9_-]+", "-", plain).strip("-_")[:64].rstrip("-_") or "server"
    return f"{id}-server" if id in RESERVED_TOOLSETS else id


def is_pegboard(connection: Connection) -> bool:
    match require_stdio_or_http(connection):
        case Http(url):
            return _OWN_URL.fullmatch(url) is not None
        case Stdio(command, args):
            program = os.path.basename(command.replace("\\", "/")).lower()
            runs = _RUNNERS.fullmatch(program) is not None and any(_names_pegboard(arg) for arg in args)
            bridged = any(_OWN_URL.fullmatch(arg) for arg in args)
            return program in ("pegboard", "pegboard.exe") or runs or bridged
        case never:
            assert_never(never)


def _names_pegboard(arg: str) -> bool:
    return re.fullmatch(r"pegboard(?:\[.*\]|[@=<>~].*)?", arg) is not None


def _is_relative_path(text: str) -> bool:
    return re.match(r"\.{1,2}(?:[/\\]|$)", text) is not None


def _ends_in_sse(url: str) -> bool:
    try:
        return urlsplit(url).path.rstrip("/").endswith("/sse")
    except ValueError:
        return False


# A name for a server that has none: what is left of its package, program, image or host without the words that
# every
# server has.

_NAMING_RUNNERS: Final = frozenset(
    {"npx", "bunx", "pnpx", "uvx", "uv", "pipx", "npm", "pnpm", "yarn", "bun", "deno", "node", "python", "py", "ruby"}
    | {"docker", "podman", "sh", "bash", "cmd", "env", "exec", "run", "dlx", "tool", "x", "go", "java", "sudo", "start"}
)
_VALUE_OPTIONS: Final = frozenset(
    {"-e", "--env", "-v", "--volume", "--mount", "-p", "--publish", "--name", "--network", "--from", "--with", "-w"}
    | {"--directory", "--project", "--python", "-u", "--user", "--env-file", "--add-host", "--entrypoint"}
)
"""Options of runners whose next word is theirs and no name."""
_COMMON_WORDS: Final = frozenset(
    {"mcp", "server", "servers", "modelcontextprotocol", "api", "www", "app", "the", "io", "main"}
)
_FILE: Final = re.compile(r"\.(?:py|js|mjs|cjs|ts|sh|rb|jar|exe|cmd|bat)$", re.IGNORECASE)
_VERSION: Final = re.compile(r"(?<=.)(?:@[^/@]*|:[\w.-]+|[=<>~!]=.*|\[.*\])$")


def suggest_name(words: Sequence[str]) -> str:
    """Of an address alone, or of a command with its arguments. Never empty."""
    if len(words) == 1 and re.match(r"https?://", words[0], re.IGNORECASE):
        return _name_from_host(words[0]) or "server"
    own = iter(words)
    for word in own:
        if word in _VALUE_OPTIONS:
            next(own, None)
            continue
        if word.startswith("-") or "=" in word.partition("/")[0].partition("@")[0].replace("==", ""):
            continue
        last = _VERSION.sub("", word.replace("\\", "/").rstrip("/")).rsplit("/", 1)[-1]
        bare = _FILE.sub("", last)
        if re.sub(r"[0-9.]+$", "", bare.lower()) in _NAMING_RUNNERS:
            continue
        if (name := _distinctive_part(bare)) is not None:
            return name
        scope = word.partition("/")[0].removeprefix("@")
        return _distinctive_part(scope) or bare or "server"
    return _distinctive_part(words[0].replace("\\", "/").rsplit("/", 1)[-1]) or words[0] if words else "server"


def _name_from_host(url: str) -> str | None:
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return None
    if re.fullmatch(r"[0-9.]+|.*:.*", host) or host == "localhost":
        return "local"
    labels = host.split(".")
    kept = [label for label in (labels[:-1] or labels) if label not in _COMMON_WORDS]
    return _distinctive_part(kept[-1]) if kept else labels[-2 if len(labels) > 1 else 0] or None


def _distinctive_part(word: str) -> str | None:
    parts = [part for part in re.split(r"[-_.]+", word) if part and part.lower() not in _COMMON_WORDS]
    return "-".join(parts) or None
