"""From parsed keys to core values: servers, toolsets, selection, denials and grants, each with its line."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from pegboard.config.keys import access, root
from pegboard.config.keys.features import code_settings, prompt_settings
from pegboard.config.overrides import read_overrides
from pegboard.config.references import escape_literal, expand_home, unresolved_references
from pegboard.config.schema.document import LocatedValue, ProblemCollector
from pegboard.config.schema.section import ConfigKey, ConfigValues, OptionalName
from pegboard.core.model.confirmation import ConfirmationLevel, ConfirmationSetting
from pegboard.core.model.ids import (
    BadId,
    LegacyToolId,
    PrincipalId,
    ServerId,
    ServerKey,
    ToolId,
    ToolsetId,
    parse_tool_id,
)
from pegboard.core.model.patterns import Pattern, parse_pattern
from pegboard.core.model.redaction import Redaction
from pegboard.core.model.references import parse_reference
from pegboard.core.model.selection import AllToolsets, Selection, ToolsetChoice, parse_toolsets
from pegboard.core.model.server import (
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
from pegboard.core.model.settings import PinnedEntry, PresentationSettings
from pegboard.core.model.toolset import Toolset
from pegboard.core.policy.policy import DeclaredSettings, Denial
from pegboard.ports.providers import UnresolvedReference

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
    found = values.value(root.SERVERS, {})
    servers = [declare_server(server_key(id, said), said, place, tell) for id, said in found.items()]
    selection = values.get(root.SELECTION)
    selected = () if selection is None else (*_selected_names(selection.value),)
    return DeclaredSettings(
        servers={each.key: each for each in servers},
        toolsets=_toolsets(servers, values.value(root.TOOLSETS, {}), place),
        selection=Selection() if selection is None else _selection(selection.value, tell),
        denials=tuple(_denials(values.value(root.DENY, ()), place, tell)),
        overrides=tuple(read_overrides(values, place.file, tell)),
        grants=_grants(values.value(root.GRANTS, {})),
        selected_at=None if selection is None else place.declared_at(selection),
        optional_names=frozenset(str(each.value) for each in selected if isinstance(each.value, OptionalName)),
        selection_lines={str(each.value): place.declared_at(each) for each in selected},
        granted_at={PrincipalId(who): place.declared_at(names) for who, names in values.value(root.GRANTS, {}).items()},
        redaction=Redaction(tuple(said.value for said in values.value(root.REDACT, ()))),
        presentation=_presentation_settings(values, place, tell),
        prompts=prompt_settings(values, place.file, tell),
        code=code_settings(values.get(root.CODE)),
        confirmation_seconds=_confirmation_seconds(values.get(root.CONFIRMATION)),
        consent_days=_standing_days(values.get(root.CONFIRMATION)),
        confirm_manifest_servers=_confirm_manifest_servers(values.get(root.CONFIRMATION), place),
        confirmation=_confirmation(values.get(root.CONFIRMATION), place),
    )


def _presentation_settings(values: ConfigValues, place: FileContext, tell: ProblemCollector) -> PresentationSettings:
    usual = PresentationSettings()
    named = values.value(root.ALWAYS_VISIBLE, ())
    texts = _checked_references(named, tell)
    return PresentationSettings(
        presentation=values.value(access.PRESENTATION, usual.presentation),
        threshold=values.value(access.THRESHOLD, usual.threshold),
        max_materialized=values.value(access.MATERIALISED, usual.max_materialized),
        always_visible=tuple(
            PinnedEntry(text, place.declared_at(name), isinstance(name.value, OptionalName))
            for text, name in zip(texts, named, strict=True)
        ),
    )


def _confirmation(said: LocatedValue[ConfigValues] | None, place: FileContext) -> ConfirmationSetting | None:
    mode = None if said is None else said.value.get(root.MODE)
    return (
        None if mode is None else ConfirmationSetting(ConfirmationLevel.BOARD, "", mode.value, place.declared_at(mode))
    )


def _confirmation_seconds(said: LocatedValue[ConfigValues] | None) -> float:
    usual = DeclaredSettings().confirmation_seconds
    return usual if said is None else said.value.value(root.DEADLINE, usual)


def _standing_days(said: LocatedValue[ConfigValues] | None) -> int | None:
    days = None if said is None else said.value.get(root.CONSENT_DAYS)
    if days is None:
        return DeclaredSettings().consent_days
    return None if days.value == "never" else days.value


def _confirm_manifest_servers(said: LocatedValue[ConfigValues] | None, place: FileContext) -> DeclaredAt | None:
    asks = None if said is None else said.value.get(root.CONFIRM_MANIFEST_SERVERS)
    return place.declared_at(asks) if asks is not None and asks.value else None


def declare_server(
    key: ServerKey, said: LocatedValue[ConfigValues], place: FileContext, tell: ProblemCollector
) -> Server:
    values = said.value
    return Server(
        key=key,
        connection=_connection(values, place, tell),
        origin=place.declared_at(said),
        enabled=values.value(root.ENABLED, True),
        trust=values.value(root.TRUST, Trust.BASELINE),
        limit=_limit(values, key, place, tell),
        timeouts=_timeouts(values.get(root.TIMEOUTS)),
        starts=_starts(values, tell),
        protocol=values.value(root.PROTOCOL, ProtocolMode.LATEST),
    )


def server_key(id: str, said: LocatedValue[ConfigValues]) -> ServerKey:
    return ServerKey(ToolsetId(said.value.value(root.TOOLSET, id)), ServerId(id))


def _connection(values: ConfigValues, place: FileContext, tell: ProblemCollector) -> Connection:
    if (url := values.get(root.URL)) is not None:
        _check_url(url, tell)
        _check_headers(values.value(root.HEADERS, {}), tell)
        transport = values.value(root.TRANSPORT, Transport.STREAMABLE_HTTP)
        return Http(url.value, transport, _plain_values(values, root.HEADERS), _oauth(values))
    command = values.value(root.COMMAND, "")
    cwd = values.get(root.CWD)
    return Stdio(
        command=place.resolve_path(command) if _SLASHES.search(command) else command,
        args=tuple(arg.value for arg in values.value(root.ARGS, ())),
        env=_plain_values(values, root.ENV),
        cwd=escape_literal(str(place.folder)) if cwd is None else place.resolve_path(cwd.value),
    )


def _oauth(values: ConfigValues) -> OAuth | NoOAuth:
    said = values.get(root.OAUTH)
    if said is None:
        return OAuth()
    if said.value is False:
        return NoOAuth()
    return OAuth(
        client_id=_text(said.value, root.CLIENT_ID),
        client_secret=_text(said.value, root.CLIENT_SECRET),
        client_metadata_url=_text(said.value, root.CLIENT_METADATA_URL),
        scopes=tuple(scope.value for scope in said.value.value(root.SCOPES, ())),
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
    only, all_but = values.get(root.ENABLED_TOOLS), values.get(root.DISABLED_TOOLS)
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
        start=said.value.value(root.START, usual.start),
        call=said.value.value(root.CALL, usual.call),
        stop=said.value.value(root.STOP, usual.stop),
    )


def _starts(values: ConfigValues, tell: ProblemCollector) -> StartPolicy:
    usual: StartPolicy = StartWithGateway()
    said, idle = values.value(root.STARTS, usual), values.get(root.IDLE_STOP)
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
            name=told.value.value(root.TOOLSET_NAME, ""),
            description=told.value.value(root.TOOLSET_DESCRIPTION, ""),
            enabled=told.value.value(root.TOOLSET_ENABLED, True),
            user_mcp=standalone,
        )
    return board


def _selection(values: ConfigValues, tell: ProblemCollector) -> Selection:
    named = values.get(root.SELECTED_TOOLSETS)
    chosen: ToolsetChoice = AllToolsets() if named is None else parse_toolsets(name.value for name in named.value)
    return Selection(
        toolsets=chosen,
        enabled=tuple(_checked_references(values.value(root.SELECTED_TOOLS, ()), tell)),
        disabled=tuple(_checked_references(values.value(root.UNSELECTED_TOOLS, ()), tell)),
    )


def _selected_names(values: ConfigValues) -> Iterator[LocatedValue[str]]:
    """Every name of the selection."""
    for key in (root.SELECTED_TOOLSETS, root.SELECTED_TOOLS, root.UNSELECTED_TOOLS):
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
