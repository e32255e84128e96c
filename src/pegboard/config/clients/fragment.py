"""Servers as a piece of pegboard.yaml, without a secret in it: what may be one becomes a reference."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import count
from typing import TYPE_CHECKING, Final, assert_never

import yaml

from pegboard.config.masking import Span, is_secret_key, secrets_in
from pegboard.config.references import FileText, Literal, Malformed, OfRequest, Part, Variable, has_reference, parts
from pegboard.config.tree import Kind, kind_of
from pegboard.core.server import AllButTools, EveryTool, Http, OnlyTools, Server, Stdio, Transport, plainly_reached
from pegboard.core.tool import Json, JsonObject

from .placeholders import variable_name

if TYPE_CHECKING:
    from pegboard.config.manifest.placeholders import Placeholders

_HARMLESS: Final = re.compile(
    r"|true|false|yes|no|on|off|none|null|auto|default|debug|info|warn|warning|error|trace|verbose|quiet"
    r"|production|development|test|staging|prod|dev|local|stdio|http|https|sse|json|text|utf-?8"
    r"|[0-9]{1,6}(?:\.[0-9]{1,3})?(?:ms|s|m|h)?"
    r"|(?:localhost|127\.0\.0\.1|0\.0\.0\.0)(?::[0-9]{1,5})?"
    r"|(?:~|\.{1,2})?(?:/[\w .+@-]+)+/?|[A-Za-z]:(?:[\\/][\w .+@-]+)+[\\/]?",
    re.IGNORECASE,
)
_PLAIN_HEADERS: Final = frozenset({"accept", "accept-language", "content-type", "user-agent"})
_SCHEME: Final = re.compile(r"(?:Bearer|Basic|Token) +", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Secret:
    """A value that was taken out. It is still where it was found: `at` says in which file and line."""

    variable: str
    server: str
    key: str
    at: str


def without_secrets(servers: Iterable[Server]) -> tuple[tuple[Server, ...], tuple[Secret, ...]]:
    vault = _Vault()
    return tuple(vault.emptied(server) for server in servers), tuple(vault.secrets)


def as_yaml(servers: Iterable[Server]) -> str:
    """Loads as it is. Its comment names the variables to set and where their values are found."""
    emptied, secrets = without_secrets(servers)
    lines = {one.variable: f"the {_in_line(one.key)} of {one.server}, see {_in_line(one.at)}" for one in secrets}
    for server in emptied:
        for variable in _needed(server):
            lines.setdefault(variable, f"which {server.id} refers to, see {_in_line(str(server.origin))}")
    head = ["# Set these environment variables before Pegboard starts:"] if lines else []
    head += [f"#   {variable}  {line}" for variable, line in lines.items()]
    tree: Json = {"servers": {server.id: entry_of(server) for server in emptied}}
    body = yaml.dump(tree, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=10_000)
    return "".join(f"{line}\n" for line in head) + str(body)


class _Vault:
    def __init__(self) -> None:
        self.secrets: list[Secret] = []
        self.values: dict[str, str] = {}

    def emptied(self, server: Server) -> Server:
        id, at = server.id, str(server.origin)
        match plainly_reached(server.connection):
            case Stdio(command, args, env) as program:
                kept = {name: self.value(id, at, name, value) for name, value in env.items()}
                safe = self.given(id, at, args, lambda held: held.args("", command, args))
                return replace(server, connection=replace(program, args=tuple(safe), env=kept))
            case Http(url, _, headers) as address:
                kept = {name: self.header(id, at, name, value) for name, value in headers.items()}
                (told,) = self.given(id, at, (url,), lambda held: [held.text("", "url", url)])
                return replace(server, connection=replace(address, url=told, headers=kept))
            case never:
                assert_never(never)

    def value(self, id: str, at: str, name: str, value: str) -> str:
        """Whatever is not known to be harmless is taken for a secret: better a variable too many."""
        if has_reference(value):
            whole = (Span(0, len(value)),) if is_secret_key(name) else ()
            spans = tuple(Span(span.start, span.end, name) for span in secrets_in(value) or whole)
            return self.spanned(id, at, name, value, spans)
        if not is_secret_key(name) and _is_harmless(value):
            return value
        return self.reference(id, at, name, value)

    def header(self, id: str, at: str, name: str, value: str) -> str:
        if name.lower() in _PLAIN_HEADERS:
            return value
        scheme = _SCHEME.match(value)
        start = "" if scheme is None else scheme.group()
        return f"{start}{self.value(id, at, name, value[len(start) :])}"

    def given(self, id: str, at: str, texts: tuple[str, ...], told: Callable[["Placeholders"], list[str]]) -> list[str]:
        """Arguments or an address, by the rule that exports go by; its placeholders become our references."""
        from pegboard.config.manifest.placeholders import Placeholders, referred

        held = Placeholders(taken=referred(texts))
        safe = told(held)
        for name in held.names:
            ours = self.reference(id, at, name.lower(), held.values_of[name])
            safe = [text.replace(f"${{{name}}}", ours) for text in safe]
        return safe

    def spanned(self, id: str, at: str, name: str, text: str, spans: tuple[Span, ...]) -> str:
        """References within a span stay what they are; what is written out beside them is taken away."""
        safe, place = "", 0
        for span in spans:
            split = parts(text[span.start : span.end])
            found = (Literal(text[span.start : span.end]),) if isinstance(split, Malformed) else split
            safe += text[place : span.start] + "".join(self.part(id, at, span.name or name, part) for part in found)
            place = span.end
        return safe + text[place:]

    def part(self, id: str, at: str, name: str, part: Part) -> str:
        match part:
            case Literal(text):
                return text if _SCHEME.fullmatch(text) else self.reference(id, at, name, text)
            case Variable(variable, default) if default is not None and not _is_harmless(default):
                self.secrets.append(Secret(variable, id, name, at))
                return str(part)
            case Variable() | FileText() | OfRequest():
                return part.written
            case _:
                assert_never(part)

    def reference(self, id: str, at: str, name: str, value: str) -> str:
        own = variable_name(name)
        wanted = own if own.startswith(f"{variable_name(id)}_") else variable_name(id, name)
        names = (wanted if number == 1 else f"{wanted}_{number}" for number in count(1))
        variable = next(one for one in names if self.values.get(one, value) == value)
        if variable not in self.values:
            self.values[variable] = value
            self.secrets.append(Secret(variable, id, name, at))
        return f"${{{variable}}}"


class _Dumper(yaml.SafeDumper):
    """Quotes what would not read back as the same text, and indents lists under their key."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)


def _as_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = None if kind_of(text) is Kind.TEXT and text.isprintable() else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _as_text)


def entry_of(server: Server) -> JsonObject:
    """By the keys of a server in pegboard.yaml, secrets included."""
    entry: JsonObject = {}
    match plainly_reached(server.connection):
        case Stdio(command, args, env, cwd):
            entry["command"] = command
            entry |= _filled("args", [*args]) | _filled("env", _object(env)) | _filled("cwd", cwd)
        case Http(url, transport, headers):
            entry["url"] = url
            entry |= _unless("transport", transport.value, usual=Transport.STREAMABLE_HTTP.value)
            entry |= _filled("headers", _object(headers))
        case never:
            assert_never(never)
    entry |= _unless("toolset", str(server.key.toolset), usual=server.id)
    entry |= _unless("enabled", server.enabled, usual=True)
    match server.limit:
        case OnlyTools(names):
            entry["enabled_tools"] = [*names]
        case AllButTools(names):
            entry["disabled_tools"] = [*names]
        case EveryTool():
            pass
        case _:
            assert_never(server.limit)
    return entry


def _needed(server: Server) -> Iterator[str]:
    """The variables without which it does not start."""
    match plainly_reached(server.connection):
        case Stdio(command, args, env, cwd):
            texts = (command, *args, *env.values(), cwd or "")
        case Http(url, _, headers):
            texts = (url, *headers.values())
        case never:
            assert_never(never)
    for text in texts:
        split = parts(text)
        for part in () if isinstance(split, Malformed) else split:
            if isinstance(part, Variable) and part.default is None:
                yield part.name


def _in_line(text: str) -> str:
    """A comment ends with its line, and what stands in it was written by others."""
    return "".join(one if one.isprintable() else "?" for one in text)


def _unless(key: str, value: Json, *, usual: Json) -> JsonObject:
    return {} if value == usual else {key: value}


def _filled(key: str, value: Json) -> JsonObject:
    return {key: value} if value else {}


def _object(pairs: Mapping[str, str]) -> JsonObject:
    return {**pairs}


def _is_harmless(value: str) -> bool:
    return _HARMLESS.fullmatch(value) is not None or (
        re.fullmatch(r"https?://\S+", value) is not None and not secrets_in(value)
    )
