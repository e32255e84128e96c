"""From what the keys say to what the core knows: servers, toolsets, selection, denials and grants with their places."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from pegboard.core.confirmation import ConfirmationLevel, ConfirmationSetting
from pegboard.core.ids import BadId, LegacyToolId, PrincipalId, ServerId, ServerKey, ToolId, ToolsetId, parse_tool_id
from pegboard.core.pattern import Pattern, parse_pattern
from pegboard.core.policy import DeclaredSettings, Denial
from pegboard.core.presentations import PinnedEntry, PresentationSettings
from pegboard.core.redact import Redaction
from pegboard.core.reference import parse_reference
from pegboard.core.selection import AllToolsets, Selection, ToolsetChoice, parse_toolsets
from pegboard.core.server import (
    AllButTools,
    Connection,
    DeclaredAt,
    EveryTool,
    Http,
    NoOAuth,
    OAuth,
    OnlyTools,
    ProtocolMode,
    Server,
    StartOnDemand,
    StartPolicy,
    StartWithGateway,
    Stdio,
    Timeouts,
    ToolFilter,
    Transport,
    Trust,
)
from pegboard.core.toolset import Toolset
from pegboard.ports import UnresolvedReference

from . import keys, presentation_keys
from .code_keys import code_settings
from .overriding import read_overrides
from .prompt_keys import prompt_settings
from .references import escape_literal, expand_home, unresolved_references
from .section import ConfigKey, ConfigValues, OptionalName
from .telling import LocatedValue, ProblemCollector

_SLASHES: Final = re.compile(r"[/\\]" if os.sep == "\\" else "/")


@dataclass(frozen=True)
class FileContext:
    """Where a file stands: what its relative paths and references are taken from."""

    file: str
    folder: Path
    environ: Mapping[str, str]
    resolves_references: bool = True
    """Whether references are read. Those of a text that somebody sent are not: their values are the operator's."""

    def unresolved_references(self, text: str) -> Iterator[UnresolvedReference]:
        """Each reference of a well formed text that has no value now; none where references are not read."""
        return unresolved_references(text, self.environ, self.folder) if self.resolves_references else iter(())

    def declared_at(self, placed: LocatedValue[object]) -> DeclaredAt:
        return DeclaredAt(self.file, placed.line)

    def resolve_path(self, text: str) -> str:
        """A path from the file's folder. One that begins with a reference is known only when it is used."""
        if text.startswith("${"):
            return text
        joined = os.path.join(escape_literal(str(self.folder)), expand_home(text, self.environ))
        return joined if "${" in text else os.path.normpath(joined)


def read_declared_settings(values: ConfigValues, place: FileContext, tell: ProblemCollector) -> DeclaredSettings:
    found = values.value(keys.SERVERS, {})
    servers = [declare_server(server_key(id, said), said, place, tell) for id, said in found.items()]
    selection = values.get(keys.SELECTION)
    selected = () if selection is None else (*_selected_names(selection.value),)
    return DeclaredSettings(
        servers={each.key: each for each in servers},
        toolsets=_toolsets(servers, values.value(keys.TOOLSETS, {}), place),
        selection=Selection() if selection is None else _selection(selection.value, tell),
        denials=tuple(_denials(values.value(keys.DENY, ()), place, tell)),
        overrides=tuple(read_overrides(values, place.file, tell)),
        grants=_grants(values.value(keys.GRANTS, {})),
        selected_at=None if selection is None else place.declared_at(selection),
        optional_names=frozenset(str(each.value) for each in selected if isinstance(each.value, OptionalName)),
        selection_lines={str(each.value): place.declared_at(each) for each in selected},
        granted_at={PrincipalId(who): place.declared_at(names) for who, names in values.value(keys.GRANTS, {}).items()},
        redaction=Redaction(tuple(said.value for said in values.value(keys.REDACT, ()))),
        presentation=_presentation_settings(values, place, tell),
        prompts=prompt_settings(values, place.file, tell),
        code=code_settings(values.get(keys.CODE)),
        confirmation_seconds=_confirmation_seconds(values.get(keys.CONFIRMATION)),
        consent_days=_standing_days(values.get(keys.CONFIRMATION)),
        confirm_manifest_servers=_confirm_manifest_servers(values.get(keys.CONFIRMATION), place),
        confirmation=_confirmation(values.get(keys.CONFIRMATION), place),
    )


def _presentation_settings(values: ConfigValues, place: FileContext, tell: ProblemCollector) -> PresentationSettings:
    usual = PresentationSettings()
    named = values.value(keys.ALWAYS_VISIBLE, ())
    texts = _checked_references(named, tell)
    return PresentationSettings(
        presentation=values.value(presentation_keys.PRESENTATION, usual.presentation),
        threshold=values.value(presentation_keys.THRESHOLD, usual.threshold),
        max_materialized=values.value(presentation_keys.MATERIALISED, usual.max_materialized),
        always_visible=tuple(
            PinnedEntry(text, place.declared_at(name), isinstance(name.value, OptionalName))
            for text, name in zip(texts, named, strict=True)
        ),
    )


def _confirmation(said: LocatedValue[ConfigValues] | None, place: FileContext) -> ConfirmationSetting | None:
    mode = None if said is None else said.value.get(keys.MODE)
    return (
        None if mode is None else ConfirmationSetting(ConfirmationLevel.BOARD, "", mode.value, place.declared_at(mode))
    )


def _confirmation_seconds(said: LocatedValue[ConfigValues] | None) -> float:
    usual = DeclaredSettings().confirmation_seconds
    return usual if said is None else said.value.value(keys.DEADLINE, usual)


def _standing_days(said: LocatedValue[ConfigValues] | None) -> int | None:
    days = None if said is None else said.value.get(keys.STANDING_DAYS)
    if days is None:
        return DeclaredSettings().consent_days
    return None if days.value == "never" else days.value


def _confirm_manifest_servers(said: LocatedValue[ConfigValues] | None, place: FileContext) -> DeclaredAt | None:
    asks = None if said is None else said.value.get(keys.CONFIRM_MANIFEST_SERVERS)
    return place.declared_at(asks) if asks is not None and asks.value else None


def declare_server(
    key: ServerKey, said: LocatedValue[ConfigValues], place: FileContext, tell: ProblemCollector
) -> Server:
    values = said.value
    return Server(
        key=key,
        connection=_connection(values, place, tell),
        origin=place.declared_at(said),
        enabled=values.value(keys.ENABLED, True),
        trust=values.value(keys.TRUST, Trust.BASELINE),
        limit=_limit(values, key, place, tell),
        timeouts=_timeouts(values.get(keys.TIMEOUTS)),
        starts=_starts(values, tell),
        protocol=values.value(keys.PROTOCOL, ProtocolMode.LATEST),
    )


def server_key(id: str, said: LocatedValue[ConfigValues]) -> ServerKey:
    return ServerKey(ToolsetId(said.value.value(keys.TOOLSET, id)), ServerId(id))


def _connection(values: ConfigValues, place: FileContext, tell: ProblemCollector) -> Connection:
    if (url := values.get(keys.URL)) is not None:
        _check_url(url, tell)
        _check_headers(values.value(keys.HEADERS, {}), tell)
        transport = values.value(keys.TRANSPORT, Transport.STREAMABLE_HTTP)
        return Http(url.value, transport, _plain_values(values, keys.HEADERS), _oauth(values))
    command = values.value(keys.COMMAND, "")
    cwd = values.get(keys.CWD)
    return Stdio(
        command=place.resolve_path(command) if _SLASHES.search(command) else command,
        args=tuple(arg.value for arg in values.value(keys.ARGS, ())),
        env=_plain_values(values, keys.ENV),
        cwd=escape_literal(str(place.folder)) if cwd is None else place.resolve_path(cwd.value),
    )


def _oauth(values: ConfigValues) -> OAuth | NoOAuth:
    said = values.get(keys.OAUTH)
    if said is None:
        return OAuth()
    if said.value is False:
        return NoOAuth()
    return OAuth(
        client_id=_text(said.value, keys.CLIENT_ID),
        client_secret=_text(said.value, keys.CLIENT_SECRET),
        client_metadata_url=_text(said.value, keys.CLIENT_METADATA_URL),
        scopes=tuple(scope.value for scope in said.value.value(keys.SCOPES, ())),
    )


def _text(values: ConfigValues, key: ConfigKey[str]) -> str | None:
    said = values.get(key)
    return None if said is None else said.value


def _check_url(url: LocatedValue[str], tell: ProblemCollector) -> None:
    if "${" in url.value:
        return
    try:
        split = urlsplit(url.value)
        usable = bool(split.hostname) and split.port != 0
    except ValueError:
        usable = False
    if not usable:
        tell.add_problem(url.line, url.key, "no server can be at this URL: its host or port is not one. Correct it.")


def _check_headers(headers: Mapping[str, LocatedValue[str]], tell: ProblemCollector) -> None:
    """To HTTP `X-Key` and `x-key` are one name, and which of the two values is sent would be luck."""
    written: dict[str, str] = {}
    for name, value in headers.items():
        if (before := written.setdefault(name.lower(), name)) != name:
            tell.add_problem(value.line, value.key, f"this is the header {before!r} once more. Keep one of them.")


def _limit(values: ConfigValues, key: ServerKey, place: FileContext, tell: ProblemCollector) -> ToolFilter:
    only, all_but = values.get(keys.ENABLED_TOOLS), values.get(keys.DISABLED_TOOLS)
    if only is not None:
        return OnlyTools(*_listed_names(only, key, place, tell))
    if all_but is not None:
        return AllButTools(*_listed_names(all_but, key, place, tell))
    return EveryTool()


def _listed_names(
    listed: LocatedValue[tuple[LocatedValue[str], ...]], key: ServerKey, place: FileContext, tell: ProblemCollector
) -> tuple[tuple[str, ...], DeclaredAt, tuple[str, ...], tuple[DeclaredAt, ...]]:
    """The names, where the list is, those of them that are optional, and where each is."""
    names = [*_names_of(listed.value, key, tell)]
    optional = tuple(name for name, written in names if isinstance(written.value, OptionalName))
    lines = tuple(place.declared_at(written) for _, written in names)
    return tuple(name for name, _ in names), place.declared_at(listed), optional, lines


def _names_of(
    names: Iterable[LocatedValue[str]], key: ServerKey, tell: ProblemCollector
) -> Iterator[tuple[str, LocatedValue[str]]]:
    """The id that an answer shows is accepted as well as the tool's own name."""
    for name in names:
        if not name.value.startswith("mcp:"):
            yield str(name.value), name
            continue
        match parse_tool_id(name.value):
            case ToolId(source, own) if source == key:
                yield own, name
            case LegacyToolId(server, own) if server == key.server:
                yield own, name
            case BadId(_, why):
                tell.add_problem(name.line, name.key, f"{why}.")
            case other:
                tell.add_problem(
                    name.line, name.key, f"{str(other)!r} is not a tool of {key}. Move it to its own server."
                )


def _timeouts(said: LocatedValue[ConfigValues] | None) -> Timeouts:
    usual = Timeouts()
    if said is None:
        return usual
    return Timeouts(
        start=said.value.value(keys.START, usual.start),
        call=said.value.value(keys.CALL, usual.call),
        stop=said.value.value(keys.STOP, usual.stop),
    )


def _starts(values: ConfigValues, tell: ProblemCollector) -> StartPolicy:
    usual: StartPolicy = StartWithGateway()
    said, idle = values.value(keys.STARTS, usual), values.get(keys.IDLE_STOP)
    if idle is None:
        return said
    if isinstance(said, StartOnDemand):
        return StartOnDemand(idle.value)
    tell.add_problem(idle.line, idle.key, "this goes only with start: on_demand. Write that too, or remove this.")
    return said


def _plain_values(values: ConfigValues, key: ConfigKey[Mapping[str, LocatedValue[str]]]) -> Mapping[str, str]:
    return {name: placed.value for name, placed in values.value(key, {}).items()}


def _toolsets(
    servers: Iterable[Server], said: Mapping[str, LocatedValue[ConfigValues]], place: FileContext
) -> Mapping[ToolsetId, Toolset]:
    members: dict[str, list[Server]] = {}
    for each in servers:
        members.setdefault(each.key.toolset, []).append(each)
    board: dict[ToolsetId, Toolset] = {}
    for id in sorted({*members, *said}):
        own = members.get(id, [])
        standalone = id not in said and [each.id for each in own] == [id]
        if (told := said.get(id)) is None:
            board[ToolsetId(id)] = Toolset(ToolsetId(id), own[0].origin, user_mcp=standalone)
            continue
        board[ToolsetId(id)] = Toolset(
            ToolsetId(id),
            place.declared_at(told),
            name=told.value.value(keys.TOOLSET_NAME, ""),
            description=told.value.value(keys.TOOLSET_DESCRIPTION, ""),
            enabled=told.value.value(keys.TOOLSET_ENABLED, True),
            user_mcp=standalone,
        )
    return board


def _selection(values: ConfigValues, tell: ProblemCollector) -> Selection:
    named = values.get(keys.SELECTED_TOOLSETS)
    chosen: ToolsetChoice = AllToolsets() if named is None else parse_toolsets(name.value for name in named.value)
    return Selection(
        toolsets=chosen,
        enabled=tuple(_checked_references(values.value(keys.SELECTED_TOOLS, ()), tell)),
        disabled=tuple(_checked_references(values.value(keys.UNSELECTED_TOOLS, ()), tell)),
    )


def _selected_names(values: ConfigValues) -> Iterator[LocatedValue[str]]:
    """Every name of the selection."""
    for key in (keys.SELECTED_TOOLSETS, keys.SELECTED_TOOLS, keys.UNSELECTED_TOOLS):
        yield from values.value(key, ())


def _checked_references(names: Iterable[LocatedValue[str]], tell: ProblemCollector) -> Iterator[str]:
    """Whether a name means a tool shows only on the board; whether it can mean one shows here."""
    for name in names:
        if isinstance(bad := parse_reference(name.value), BadId):
            tell.add_problem(name.line, name.key, f"{bad.why}.")
        yield str(name.value)


def _denials(written: Iterable[LocatedValue[str]], place: FileContext, tell: ProblemCollector) -> Iterator[Denial]:
    for text in written:
        match parse_pattern(text.value):
            case Pattern() as denied:
                yield Denial(denied, place.declared_at(text), isinstance(text.value, OptionalName))
            case BadId(_, why):
                tell.add_problem(text.line, text.key, f"{why}.")


def _grants(
    said: Mapping[str, LocatedValue[tuple[LocatedValue[str], ...]]],
) -> Mapping[PrincipalId, frozenset[ToolsetId]]:
    """`all` limits nothing, and so it is as if nothing was said of this caller."""
    return {
        PrincipalId(who): frozenset(ToolsetId(name.value) for name in names.value)
        for who, names in said.items()
        if all(name.value != "all" for name in names.value)
    }
