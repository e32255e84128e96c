"""One entry of another client's list, as a server of ours."""

import os
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, assert_never
from urllib.parse import urlsplit

from pegboard.config.problem import Problem
from pegboard.config.references import literal
from pegboard.config.tree import Items, Kind, Node, Scalar, Table, shown, under
from pegboard.core.headers import is_owned
from pegboard.core.ids import ID_RULE, RESERVED, ServerId, ServerKey, ToolsetId
from pegboard.core.server import (
    AllButTools,
    Connection,
    DeclaredAt,
    EveryTool,
    Http,
    OnlyTools,
    Server,
    Stdio,
    ToolLimit,
    Transport,
    plainly_reached,
)

from .placeholders import Wording, absolute

_TRANSPORTS: Final = {
    "http": Transport.STREAMABLE_HTTP,
    "streamable-http": Transport.STREAMABLE_HTTP,
    "streamable_http": Transport.STREAMABLE_HTTP,
    "streamablehttp": Transport.STREAMABLE_HTTP,
    "remote": Transport.STREAMABLE_HTTP,
    "sse": Transport.SSE,
}
_STDIO: Final = ("stdio", "local")
_URLS: Final = ("url", "serverUrl", "httpUrl")
_CARRIED: Final = frozenset(
    {*("type", "transport", "command", "args", "env", "cwd", "headers", "disabled", "enabled"), *_URLS}
    | {"disabledTools", "enabledTools", "name", "description"}
)
_OURSELVES: Final = re.compile(r"https?://(?:127\.0\.0\.1|localhost|\[::1\]|0\.0\.0\.0):8460(?:/.*)?", re.IGNORECASE)
_RUNNERS: Final = re.compile(r"(?:uvx?|pipx|python[0-9.]*|py)(?:\.exe)?", re.IGNORECASE)


@dataclass
class Reading:
    """One list being read: whose it is, and what there is to say of it."""

    file: str
    wording: Wording
    switched_off: frozenset[str] = frozenset()
    problems: list[Problem] = field(default_factory=list[Problem])
    keys: list[str] = field(default_factory=list[str])
    """Of each server that was taken."""

    def tell(self, line: int, at: str, what: str) -> None:
        self.problems.append(Problem(self.file, line, at, what))

    def servers(self, node: Node | None, at: str) -> Iterator[Server]:
        """All that can be converted; an entry that cannot be is told and hides no other."""
        if node is None or (isinstance(node, Scalar) and node.kind is Kind.NOTHING):
            return
        if not isinstance(node, Table):
            self.tell(node.line, at, f"this should be a map of servers, and it is {shown(node)}. Nothing was taken.")
            return
        for entry in node.entries:
            here = under(at, entry.key)
            if not isinstance(entry.value, Table):
                self.tell(entry.line, here, f"this should describe a server, and it is {shown(entry.value)}. Left out.")
                continue
            connection = self.connection(entry.value, here)
            if connection is None:
                continue
            if is_pegboard(connection):
                self.tell(
                    entry.line, here, "this is Pegboard itself, which cannot be one of its own servers. Left out."
                )
                continue
            id = slug(entry.key)
            if id != entry.key:
                self.tell(entry.line, here, f"its id becomes {id!r}: an id has {ID_RULE}.")
            off = self.truth(entry.value, "disabled") is True or self.truth(entry.value, "enabled") is False
            self.keys.append(here)
            yield Server(
                key=ServerKey(ToolsetId(id), ServerId(id)),
                connection=connection,
                origin=DeclaredAt(self.file, entry.line),
                enabled=not off and entry.key not in self.switched_off,
                limit=self.limit(entry.value, here),
            )
            self.tell_dropped(entry.value, here)

    def connection(self, entry: Table, at: str) -> Connection | None:
        kind = self.word(entry, "type") or self.word(entry, "transport")
        url_key = next((key for key in _URLS if entry.get(key) is not None), None)
        command = entry.get("command")
        if command is not None and (kind is None or kind.lower() in _STDIO):
            return self.stdio(entry, command, at)
        if url_key is not None and (kind is None or kind.lower() in _TRANSPORTS):
            return self.http(entry, url_key, kind, at)
        if kind is not None and kind.lower() not in (*_STDIO, *_TRANSPORTS):
            what = f"its type {kind[:32]!r} is not one Pegboard speaks: stdio, http and sse are. Left out."
        else:
            what = "it has neither the command nor the url that its type needs. Left out."
        self.tell(entry.line, at, what)
        return None

    def stdio(self, entry: Table, command: Node, at: str) -> Stdio | None:
        env = self.pairs(entry, "env", at)
        own = frozenset(name for name, _ in env)
        program = self.text(command, under(at, "command"), own)
        if not program:
            self.tell(command.line, under(at, "command"), "the command is empty or no text. Left out.")
            return None
        args = self.args(entry.get("args"), under(at, "args"), own)
        folder = self.wording.folder
        cwd = entry.get("cwd")
        written = None if cwd is None else self.text(cwd, under(at, "cwd"), own)
        if written is not None:
            where: str | None = absolute(written, folder)
        else:
            # Any argument may be a path without looking like one, as in `python3 srv.py`.
            where = None if folder is None else literal(str(folder))
        return Stdio(
            command=absolute(program, folder) if _is_relative_path(program) else program,
            args=args,
            # A value speaks of the client's environment, even where it has the name it is given to.
            env=self.texts(env, under(at, "env"), frozenset()),
            cwd=where,
        )

    def http(self, entry: Table, url_key: str, kind: str | None, at: str) -> Http | None:
        node = entry.get(url_key)
        here = under(at, url_key)
        url = "" if node is None else self.text(node, here, frozenset()) or ""
        line = entry.line if node is None else node.line
        if not re.match(r"https?://|\$\{", url, re.IGNORECASE):
            self.tell(line, here, "this is no http or https URL. Left out.")
            return None
        transport = _TRANSPORTS[kind.lower()] if kind is not None else Transport.STREAMABLE_HTTP
        if kind is None and _ends_in_sse(url):
            transport = Transport.SSE
            self.tell(line, here, "it does not say its type; taken for sse, as its path ends so.")
        return Http(url, transport, self.headers(entry, under(at, "headers"), at))

    def headers(self, entry: Table, here: str, at: str) -> dict[str, str]:
        """Without what the transport writes itself, as many people write it too."""
        pairs = self.pairs(entry, "headers", at)
        for name, value in pairs:
            if is_owned(name):
                self.tell(value.line, under(here, name), "Pegboard writes this header itself; it is not carried over.")
        return self.texts([pair for pair in pairs if not is_owned(pair[0])], here, frozenset())

    def args(self, node: Node | None, at: str, own: frozenset[str]) -> tuple[str, ...]:
        if node is None:
            return ()
        if not isinstance(node, Items):
            self.tell(node.line, at, f"this should be a list, and it is {shown(node)}. Not taken.")
            return ()
        texts = (self.text(item, f"{at}[{place}]", own) for place, item in enumerate(node.nodes))
        return tuple(text for text in texts if text is not None)

    def pairs(self, entry: Table, key: str, at: str) -> list[tuple[str, Node]]:
        node = entry.get(key)
        if node is None or (isinstance(node, Scalar) and node.kind is Kind.NOTHING):
            return []
        if not isinstance(node, Table):
            self.tell(node.line, under(at, key), f"this should be a map, and it is {shown(node)}. Not taken.")
            return []
        return [(one.key, one.value) for one in node.entries]

    def texts(self, pairs: list[tuple[str, Node]], at: str, own: frozenset[str]) -> dict[str, str]:
        read = ((name, self.text(value, under(at, name), own)) for name, value in pairs)
        return {name: text for name, text in read if text is not None}

    def text(self, node: Node, at: str, own: frozenset[str]) -> str | None:
        if not isinstance(node, Scalar) or node.kind is Kind.NOTHING:
            self.tell(node.line, at, f"this should be a text, and it is {shown(node)}. Not taken.")
            return None
        text, notes = self.wording.translated(node.text, own)
        for note in notes:
            self.tell(node.line, at, note)
        return text

    def limit(self, entry: Table, at: str) -> ToolLimit:
        for key, limit in (("enabledTools", OnlyTools), ("disabledTools", AllButTools)):
            node = entry.get(key)
            if isinstance(node, Items):
                names = tuple(item.text for item in node.nodes if isinstance(item, Scalar) and item.text)
                if names or limit is OnlyTools:
                    return limit(names)
            elif node is not None:
                self.tell(node.line, under(at, key), f"this should be a list, and it is {shown(node)}. Not taken.")
        return EveryTool()

    def tell_dropped(self, entry: Table, at: str) -> None:
        for one in entry.entries:
            if one.key == "envFile":
                what = "this is not carried over. Write what the file sets under env, as NAME: ${NAME}."
                self.tell(one.line, under(at, one.key), what)
            elif one.key not in _CARRIED:
                self.tell(one.line, under(at, one.key), "Pegboard has nothing like this; it is not carried over.")

    def word(self, entry: Table, key: str) -> str | None:
        node = entry.get(key)
        return node.text if isinstance(node, Scalar) and node.kind is Kind.TEXT else None

    def truth(self, entry: Table, key: str) -> bool | None:
        node = entry.get(key)
        return node.text.lower() == "true" if isinstance(node, Scalar) and node.kind is Kind.TRUTH else None


def slug(name: str) -> str:
    """An id that our rule allows, as near to the name as can be."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    id = re.sub(r"[^a-z0-9_-]+", "-", plain).strip("-_")[:64].rstrip("-_") or "server"
    return f"{id}-server" if id in RESERVED else id


def is_pegboard(connection: Connection) -> bool:
    match plainly_reached(connection):
        case Http(url):
            return _OURSELVES.fullmatch(url) is not None
        case Stdio(command, args):
            program = os.path.basename(command.replace("\\", "/")).lower()
            runs = _RUNNERS.fullmatch(program) is not None and any(_names_pegboard(arg) for arg in args)
            bridged = any(_OURSELVES.fullmatch(arg) for arg in args)
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
