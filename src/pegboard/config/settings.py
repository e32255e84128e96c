"""Loads pegboard.yaml: all settings of a gateway, or all problems of the file."""

import hashlib
import os
import re
from collections.abc import Collection, Container, Mapping
from dataclasses import dataclass, field, replace
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Final

from pegboard.config.databases import database_warnings, read_databases
from pegboard.config.declare import FileContext, read_declared_settings
from pegboard.config.docspace import with_docspace
from pegboard.config.keys import access, root
from pegboard.config.keys.features import (
    ChatSettings,
    ContainerSettings,
    SearchSettings,
    chat_settings,
    container_settings,
    search_settings,
)
from pegboard.config.lint import find_undeclared_callers, find_undeclared_toolsets, settings_warnings
from pegboard.config.paths import SettingsSource, decode_text, read_bytes
from pegboard.config.principals import principal_warnings, with_principals
from pegboard.config.schema.document import (
    ConfigWarnings,
    FileProblem,
    Invalid,
    MapNode,
    ParsedFile,
    ProblemCollector,
    UndeclaredCaller,
    UndeclaredToolset,
)
from pegboard.config.schema.parse import parse_json, parse_yaml
from pegboard.config.schema.section import ConfigValues
from pegboard.core.json.values import MAX_VALUES
from pegboard.core.model.ids import ProviderKey
from pegboard.core.policy.policy import DeclaredSettings

MAX_SETTINGS_BYTES: Final = 5_000_000
_SQLITE_FILE: Final = re.compile(r"(sqlite(?:\+aiosqlite)?:///)(?![/:]|file:)([^?]+)(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Retention:
    """How much of the audit is kept, and what of calls is in it."""

    keep_days: int = 90
    keep_rows: int = 1_000_000
    arguments: bool = False
    results: bool = False


@dataclass(frozen=True, slots=True)
class GatewaySettings:
    """Who may reach the gateway over HTTP, beside this machine itself. `host:*` stands for any port."""

    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    url: str | None = None
    """Where people's browsers reach it, if not where it listens."""
    proxies: tuple[IPv4Network | IPv6Network, ...] = ()
    """Where reverse proxies stand whose word on a client's address is taken."""
    max_values: int = MAX_VALUES
    """In one request."""
    max_bytes: int | None = None
    """In one request; `None` for as many as what is on the board calls for."""
    max_connections_per_address: int = access.MAX_WAITING
    """That wait at the same time."""


@dataclass(frozen=True)
class Settings:
    file: str
    folder: Path
    """What relative paths and `${file:…}` references of the file are taken from."""
    digest: str
    declared: DeclaredSettings = field(default_factory=DeclaredSettings)
    store: str | None = None
    """May hold references: they are read only when the store opens."""
    audit: Retention = field(default_factory=Retention)
    gateway: GatewaySettings = field(default_factory=GatewaySettings)
    containers: ContainerSettings = field(default_factory=ContainerSettings)
    search: SearchSettings = field(default_factory=SearchSettings)
    chat: ChatSettings | None = None
    """`None` where no model server is named."""
    warnings: tuple[FileProblem, ...] = ()
    undeclared_toolsets: tuple[UndeclaredToolset, ...] = ()
    undeclared_callers: tuple[UndeclaredCaller, ...] = ()
    source: SettingsSource = field(default_factory=SettingsSource, compare=False, repr=False)

    @property
    def all_warnings(self) -> ConfigWarnings:
        return ConfigWarnings(self.warnings, self.undeclared_toolsets, self.undeclared_callers)

    def unknown_toolsets(
        self, installed: Container[str], servers: Collection[ProviderKey] = ()
    ) -> tuple[FileProblem, ...]:
        """Why the file cannot be used, given the toolsets and servers that people have installed (ADR 16)."""
        return tuple(
            doubt.problem
            for doubt in self.undeclared_toolsets
            if doubt.is_error and doubt.is_unknown(installed, servers)
        )


@dataclass(frozen=True)
class InvalidFile:
    """A file that says nothing the gateway could use. What was loaded before it stays as it is."""

    file: str
    problems: tuple[FileProblem, ...]
    digest: str | None = None

    def __str__(self) -> str:
        return "\n".join(str(problem) for problem in self.problems)


def load_settings_file(path: Path | str, environ: Mapping[str, str] = os.environ) -> Settings | InvalidFile:
    """The path is shown as it was given; what is relative in the file is taken from where the path leads."""
    file = str(path)
    content = read_bytes(Path(path), MAX_SETTINGS_BYTES)
    if isinstance(content, FileProblem):
        return InvalidFile(file, (content,))
    return load_settings_text(content, file, Path(path).absolute().parent, environ)


def load_settings_text(
    content: bytes | str,
    file: str,
    folder: Path | None = None,
    environ: Mapping[str, str] = os.environ,
    *,
    resolves_references: bool = True,
) -> Settings | InvalidFile:
    """`file` names the text in problems, tells its folder if none is given, and by .json says that it is JSON.

    Without `resolves_references` no variable and no file is read for a reference: whether it has a value, and whether
    the value is usable, is not checked. Use this for a text that somebody sent.
    """
    folder = Path(file).absolute().parent if folder is None else folder
    raw = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
    digest = hashlib.sha256(raw).hexdigest()
    if len(raw) > MAX_SETTINGS_BYTES:
        what = f"larger than {MAX_SETTINGS_BYTES // 1_000_000} MB, which is the limit. Is it the right file?"
        return InvalidFile(file, (FileProblem(file, 0, "", what),), digest)
    text = decode_text(raw, file)
    if isinstance(text, FileProblem):
        return InvalidFile(file, (text,), digest)
    parsed = parse_settings_text(text, file)
    tell = ProblemCollector(file, [*parsed.problems])
    values = root.PEGBOARD.parse(parsed.root or MapNode((), 1), "", tell) if _is_readable(parsed) else Invalid()
    if isinstance(values, Invalid):
        return InvalidFile(file, tell.sorted_problems(), digest)
    place = FileContext(file, folder, environ, resolves_references)
    sourced = replace(read_declared_settings(values, place, tell), databases=read_databases(values, place, tell))
    hung = with_docspace(with_principals(sourced, values, place, tell), values, place)
    board = hung.board
    store = _store(values, place, tell)
    if tell.problems:
        return InvalidFile(file, tell.sorted_problems(), digest)
    return Settings(
        file=file,
        folder=folder,
        digest=digest,
        declared=board,
        store=store,
        audit=_retention(values),
        gateway=_callers(values),
        containers=_containers(values, place),
        search=_search(values),
        chat=_chat(values),
        warnings=(
            *settings_warnings(values, board, place),
            *principal_warnings(values, place),
            *hung.warnings,
            *database_warnings(values, place),
        ),
        undeclared_toolsets=(*find_undeclared_toolsets(values, board, place),),
        undeclared_callers=(*find_undeclared_callers(values, place),),
        source=SettingsSource(file, parsed.root if isinstance(parsed.root, MapNode) else None, digest),
    )


def parse_settings_text(text: str, file: str) -> ParsedFile:
    return parse_json(text, file) if file.lower().endswith((".json", ".jsonc")) else parse_yaml(text, file)


def _is_readable(parsed: ParsedFile) -> bool:
    return parsed.root is not None or not parsed.problems


def _retention(values: ConfigValues) -> Retention:
    usual = Retention()
    said = values.get(root.AUDIT)
    if said is None:
        return usual
    return Retention(
        keep_days=said.value.value(root.KEEP_DAYS, usual.keep_days),
        keep_rows=said.value.value(root.KEEP_ROWS, usual.keep_rows),
        arguments=said.value.value(root.KEEP_ARGUMENTS, usual.arguments),
        results=said.value.value(root.KEEP_RESULTS, usual.results),
    )


def _callers(values: ConfigValues) -> GatewaySettings:
    said = values.get(root.GATEWAY)
    if said is None:
        return GatewaySettings()
    url = said.value.get(access.PUBLIC_URL)
    return GatewaySettings(
        url=None if url is None else url.value,
        hosts=tuple(host.value for host in said.value.value(access.HOSTS, ())),
        origins=tuple(origin.value for origin in said.value.value(access.ORIGINS, ())),
        proxies=tuple(ip_network(one.value) for one in said.value.value(access.PROXIES, ())),
        max_values=said.value.value(access.MAX_REQUEST_VALUES, MAX_VALUES),
        max_bytes=None if (most := said.value.get(access.MAX_REQUEST_BYTES)) is None else most.value,
        max_connections_per_address=said.value.value(access.MAX_CONNECTIONS, access.MAX_WAITING),
    )


def _containers(values: ConfigValues, place: FileContext) -> ContainerSettings:
    said = values.get(root.CONTAINERS)
    return ContainerSettings() if said is None else container_settings(said.value, place.folder, place.environ)


def _search(values: ConfigValues) -> SearchSettings:
    said = values.get(root.SEARCH)
    return SearchSettings() if said is None else search_settings(said.value)


def _chat(values: ConfigValues) -> ChatSettings | None:
    said = values.get(root.CHAT)
    return None if said is None else chat_settings(said.value)


def _store(values: ConfigValues, place: FileContext, tell: ProblemCollector) -> str | None:
    """A store that cannot be opened stops the gateway, so here a reference to nothing is an error."""
    said = values.get(root.STORE)
    if said is None:
        return None
    for missing in place.unresolved_references(said.value):
        tell.add_problem(said.line, said.key, missing.why)
    file = _SQLITE_FILE.fullmatch(said.value)
    if file is None:
        return said.value
    return f"{file.group(1)}{place.resolve_path(file.group(2))}{file.group(3)}"
