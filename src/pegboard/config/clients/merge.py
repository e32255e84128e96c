"""Servers as a piece of pegboard.yaml, in which secrets are replaced by references."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from typing import TYPE_CHECKING, Final, assert_never

import yaml

from pegboard.config.clients.placeholders import ClientApp, ClientServerList, variable_name
from pegboard.config.masked_servers import SecretSpan, is_secret_key, secrets_in
from pegboard.config.references import (
    FileReference,
    HeaderReference,
    Literal,
    MalformedText,
    TextPart,
    VariableReference,
    has_reference,
    parse_references,
)
from pegboard.config.schema.document import FileProblem, ScalarKind, scalar_kind
from pegboard.core.json.values import Json, JsonObject
from pegboard.core.model.ids import ServerId, ServerKey, ToolsetId
from pegboard.core.model.server import (
    AllButTools,
    DeclaredAt,
    EveryTool,
    Http,
    OnlyTools,
    Server,
    Stdio,
    Transport,
    require_stdio_or_http,
)

if TYPE_CHECKING:
    from pegboard.config.manifest.secrets import Placeholders


# The servers of all clients in one list: what is the same once, and what only has the same id told apart.


@dataclass(frozen=True)
class MergedServers:
    servers: tuple[Server, ...]
    problems: tuple[FileProblem, ...] = ()
    notes: Mapping[str, tuple[FileProblem, ...]] = field(default_factory=dict[str, tuple[FileProblem, ...]])
    """The problems that are about one server, by its id."""


def merge_lists(found: Iterable[ClientServerList]) -> MergedServers:
    """In the order in which they were found. A server that is on in one list is on."""
    servers: dict[str, Server] = {}
    wishes: dict[str, str] = {}
    problems: list[FileProblem] = []
    notes: dict[str, tuple[FileProblem, ...]] = {}
    for one in found:
        problems += one.problems
        for server, key in zip(one.servers, one.keys, strict=True):
            wish = server.id
            about = tuple(problem for problem in one.problems if _is_about(problem, key))
            same = next((id for id, other in servers.items() if wishes[id] == wish and _is_same(server, other)), None)
            if same is not None:
                servers[same] = _merge_server(servers[same], server)
                notes[same] += about
                continue
            id = _free_id(wish, one.client, servers)
            wishes[id] = wish
            servers[id] = replace(server, key=ServerKey(ToolsetId(id), ServerId(id)))
            notes[id] = about
            if id != wish:
                renamed = _rename_problem(server, servers[wish], id)
                problems.append(renamed)
                notes[id] += (renamed,)
    return MergedServers(tuple(servers.values()), tuple(problems), notes)


def _is_about(problem: FileProblem, key: str) -> bool:
    return problem.key == key or problem.key.startswith((f"{key}.", f"{key}["))


def _is_same(server: Server, other: Server) -> bool:
    """A list of the user names no folder, so that it does not contradict the one of a project's list."""
    here, there = server.connection, other.connection
    if isinstance(here, Stdio) and isinstance(there, Stdio) and None in (here.cwd, there.cwd):
        here, there = replace(here, cwd=None), replace(there, cwd=None)
    return (here, server.limit) == (there, other.limit)


def _merge_server(server: Server, same: Server) -> Server:
    here, there = server.connection, same.connection
    if isinstance(here, Stdio) and isinstance(there, Stdio):
        here = replace(here, cwd=there.cwd if here.cwd is None else here.cwd)
    return replace(server, connection=here, enabled=max(server.enabled, same.enabled))


def _free_id(wanted: str, client: ClientApp, taken: Iterable[str]) -> str:
    ids = {*taken}
    if wanted not in ids:
        return wanted
    own = f"{wanted[: 60 - len(client.suffix)]}-{client.suffix}"
    numbered = (own if number == 1 else f"{own}-{number}" for number in count(1))
    return next(id for id in numbered if id not in ids)


def _rename_problem(server: Server, first: Server, id: str) -> FileProblem:
    at = server.origin if isinstance(server.origin, DeclaredAt) else DeclaredAt("", 0)
    what = f"another server has this id already ({first.origin}) and is not the same; this one becomes {id!r}."
    return FileProblem(at.file, at.line, server.id, what)


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
class ExtractedSecret:
    """A value that was taken out. It is still where it was found: `at` says in which file and line."""

    variable: str
    server: str
    key: str
    origin: str


def extract_secrets(servers: Iterable[Server]) -> tuple[tuple[Server, ...], tuple[ExtractedSecret, ...]]:
    vault = _SecretExtractor()
    return tuple(vault.strip_server(server) for server in servers), tuple(vault.secrets)


def format_yaml(servers: Iterable[Server]) -> str:
    """Loads as it is. Its comment names the variables to set and where their values are found."""
    emptied, secrets = extract_secrets(servers)
    lines = {one.variable: f"the {_one_line(one.key)} of {one.server}, see {_one_line(one.origin)}" for one in secrets}
    for server in emptied:
        for variable in _required_variables(server):
            lines.setdefault(variable, f"which {server.id} refers to, see {_one_line(str(server.origin))}")
    head = ["# Set these environment variables before Pegboard starts:"] if lines else []
    head += [f"#   {variable}  {line}" for variable, line in lines.items()]
    tree: Json = {"servers": {server.id: yaml_entry(server) for server in emptied}}
    body = yaml.dump(tree, Dumper=_FragmentDumper, sort_keys=False, allow_unicode=True, width=10_000)
    return "".join(f"{line}\n" for line in head) + str(body)


class _SecretExtractor:
    def __init__(self) -> None:
        self.secrets: list[ExtractedSecret] = []
        self.values: dict[str, str] = {}

    def strip_server(self, server: Server) -> Server:
        id, at = server.id, str(server.origin)
        match require_stdio_or_http(server.connection):
            case Stdio(command, args, env) as program:
                kept = {name: self.replace_value(id, at, name, value) for name, value in env.items()}
                safe = self.replace_texts(id, at, args, lambda held: held.replace_args("", command, args))
                return replace(server, connection=replace(program, args=tuple(safe), env=kept))
            case Http(url, _, headers) as address:
                kept = {name: self.replace_header(id, at, name, value) for name, value in headers.items()}
                (told,) = self.replace_texts(id, at, (url,), lambda held: [held.replace_text("", "url", url)])
                return replace(server, connection=replace(address, url=told, headers=kept))
            case never:
                assert_never(never)

    def replace_value(self, id: str, at: str, name: str, value: str) -> str:
        """Whatever is not known to be harmless is taken for a secret: better a variable too many."""
        if has_reference(value):
            whole = (SecretSpan(0, len(value)),) if is_secret_key(name) else ()
            spans = tuple(SecretSpan(span.start, span.end, name) for span in secrets_in(value) or whole)
            return self.replace_spans(id, at, name, value, spans)
        if not is_secret_key(name) and _is_harmless(value):
            return value
        return self.reference_for(id, at, name, value)

    def replace_header(self, id: str, at: str, name: str, value: str) -> str:
        if name.lower() in _PLAIN_HEADERS:
            return value
        scheme = _SCHEME.match(value)
        start = "" if scheme is None else scheme.group()
        return f"{start}{self.replace_value(id, at, name, value[len(start) :])}"

    def replace_texts(
        self, id: str, at: str, texts: tuple[str, ...], told: Callable[["Placeholders"], list[str]]
    ) -> list[str]:
        """Arguments or an address, by the rule that exports go by; its placeholders become our references."""
        from pegboard.config.manifest.secrets import Placeholders, referenced_names

        held = Placeholders(reserved_names=referenced_names(texts))
        safe = told(held)
        for name in held.names:
            ours = self.reference_for(id, at, name.lower(), held.secret_values[name])
            safe = [text.replace(f"${{{name}}}", ours) for text in safe]
        return safe

    def replace_spans(self, id: str, at: str, name: str, text: str, spans: tuple[SecretSpan, ...]) -> str:
        """References within a span stay what they are; what is written out beside them is taken away."""
        safe, place = "", 0
        for span in spans:
            split = parse_references(text[span.start : span.end])
            found = (Literal(text[span.start : span.end]),) if isinstance(split, MalformedText) else split
            safe += text[place : span.start] + "".join(
                self.replace_part(id, at, span.name or name, part) for part in found
            )
            place = span.end
        return safe + text[place:]

    def replace_part(self, id: str, at: str, name: str, part: TextPart) -> str:
        match part:
            case Literal(text):
                return text if _SCHEME.fullmatch(text) else self.reference_for(id, at, name, text)
            case VariableReference(variable, default) if default is not None and not _is_harmless(default):
                self.secrets.append(ExtractedSecret(variable, id, name, at))
                return str(part)
            case VariableReference() | FileReference() | HeaderReference():
                return part.source
            case _:
                assert_never(part)

    def reference_for(self, id: str, at: str, name: str, value: str) -> str:
        own = variable_name(name)
        wanted = own if own.startswith(f"{variable_name(id)}_") else variable_name(id, name)
        names = (wanted if number == 1 else f"{wanted}_{number}" for number in count(1))
        variable = next(one for one in names if self.values.get(one, value) == value)
        if variable not in self.values:
            self.values[variable] = value
            self.secrets.append(ExtractedSecret(variable, id, name, at))
        return f"${{{variable}}}"


class _FragmentDumper(yaml.SafeDumper):
    """Quotes what would not read back as the same text, and indents lists under their key."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)


def _as_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = None if scalar_kind(text) is ScalarKind.TEXT and text.isprintable() else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_FragmentDumper.add_representer(str, _as_text)


def yaml_entry(server: Server) -> JsonObject:
    """By the keys of a server in pegboard.yaml, secrets included."""
    entry: JsonObject = {}
    match require_stdio_or_http(server.connection):
        case Stdio(command, args, env, cwd):
            entry["command"] = command
            entry |= _unless_empty("args", [*args]) | _unless_empty("env", _object(env)) | _unless_empty("cwd", cwd)
        case Http(url, transport, headers):
            entry["url"] = url
            entry |= _unless_default("transport", transport.value, usual=Transport.STREAMABLE_HTTP.value)
            entry |= _unless_empty("headers", _object(headers))
        case never:
            assert_never(never)
    entry |= _unless_default("toolset", str(server.key.toolset), usual=server.id)
    entry |= _unless_default("enabled", server.enabled, usual=True)
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


def _required_variables(server: Server) -> Iterator[str]:
    """The variables without which it does not start."""
    match require_stdio_or_http(server.connection):
        case Stdio(command, args, env, cwd):
            texts = (command, *args, *env.values(), cwd or "")
        case Http(url, _, headers):
            texts = (url, *headers.values())
        case never:
            assert_never(never)
    for text in texts:
        split = parse_references(text)
        for part in () if isinstance(split, MalformedText) else split:
            if isinstance(part, VariableReference) and part.default is None:
                yield part.name


def _one_line(text: str) -> str:
    """A comment ends with its line, and what stands in it was written by others."""
    return "".join(one if one.isprintable() else "?" for one in text)


def _unless_default(key: str, value: Json, *, usual: Json) -> JsonObject:
    return {} if value == usual else {key: value}


def _unless_empty(key: str, value: Json) -> JsonObject:
    return {key: value} if value else {}


def _object(pairs: Mapping[str, str]) -> JsonObject:
    return {**pairs}


def _is_harmless(value: str) -> bool:
    return _HARMLESS.fullmatch(value) is not None or (
        re.fullmatch(r"https?://\S+", value) is not None and not secrets_in(value)
    )
