"""From what the keys say to what the core knows: servers, toolsets, selection, denials and grants with their places."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from pegboard.core.confirmation import ConfirmationLevel, ConfirmationSetting
from pegboard.core.ids import BadId, LegacyToolId, PrincipalId, ServerId, ServerKey, ToolId, ToolsetId, tool_id
from pegboard.core.pattern import Pattern, pattern
from pegboard.core.policy import Declared, Denial
from pegboard.core.presentations import Listed, Presenting
from pegboard.core.redact import Redaction
from pegboard.core.reference import reference
from pegboard.core.selection import Everything, Selection, Toolsets, toolsets
from pegboard.core.server import (
    AllButTools,
    Always,
    Connection,
    DeclaredAt,
    EveryTool,
    Http,
    NoOAuth,
    OAuth,
    OnDemand,
    OnlyTools,
    Protocol,
    Server,
    Starts,
    Stdio,
    Timeouts,
    ToolLimit,
    Transport,
    Trust,
)
from pegboard.core.toolset import Toolset
from pegboard.ports import Unresolved

from . import keys, presentation_keys
from .code_keys import code_settings
from .overriding import overrides
from .prompt_keys import prompting
from .references import literal, under_home, unresolved
from .section import Key, OptionalName, Values
from .telling import Placed, Telling

_SLASHES: Final = re.compile(r"[/\\]" if os.sep == "\\" else "/")


@dataclass(frozen=True)
class Place:
    """Where a file stands: what its relative paths and references are taken from."""

    file: str
    folder: Path
    environ: Mapping[str, str]
    resolves_references: bool = True
    """Whether references are read. Those of a text that somebody sent are not: their values are the operator's."""

    def unresolved(self, text: str) -> Iterator[Unresolved]:
        """Each reference of a well formed text that has no value now; none where references are not read."""
        return unresolved(text, self.environ, self.folder) if self.resolves_references else iter(())

    def at(self, placed: Placed[object]) -> DeclaredAt:
        return DeclaredAt(self.file, placed.line)

    def path(self, text: str) -> str:
        """A path from the file's folder. One that begins with a reference is known only when it is used."""
        if text.startswith("${"):
            return text
        joined = os.path.join(literal(str(self.folder)), under_home(text, self.environ))
        return joined if "${" in text else os.path.normpath(joined)


def declared(values: Values, place: Place, tell: Telling) -> Declared:
    found = values.value(keys.SERVERS, {})
    servers = [server(key_of(id, said), said, place, tell) for id, said in found.items()]
    selection = values.get(keys.SELECTION)
    selected = () if selection is None else (*_selected(selection.value),)
    return Declared(
        servers={each.key: each for each in servers},
        toolsets=_toolsets(servers, values.value(keys.TOOLSETS, {}), place),
        selection=Selection() if selection is None else _selection(selection.value, tell),
        denials=tuple(_denials(values.value(keys.DENY, ()), place, tell)),
        overrides=tuple(overrides(values, place.file, tell)),
        grants=_grants(values.value(keys.GRANTS, {})),
        selected_at=None if selection is None else place.at(selection),
        optional_names=frozenset(str(each.value) for each in selected if isinstance(each.value, OptionalName)),
        selection_lines={str(each.value): place.at(each) for each in selected},
        granted_at={PrincipalId(who): place.at(names) for who, names in values.value(keys.GRANTS, {}).items()},
        redaction=Redaction(tuple(said.value for said in values.value(keys.REDACT, ()))),
        presenting=_presenting(values, place, tell),
        prompting=prompting(values, place.file, tell),
        code=code_settings(values.get(keys.CODE)),
        confirmation_seconds=_confirmation_seconds(values.get(keys.CONFIRMATION)),
        standing_days=_standing_days(values.get(keys.CONFIRMATION)),
        confirm_manifest_servers=_confirm_manifest_servers(values.get(keys.CONFIRMATION), place),
        confirmation=_confirmation(values.get(keys.CONFIRMATION), place),
    )


def _presenting(values: Values, place: Place, tell: Telling) -> Presenting:
    usual = Presenting()
    named = values.value(keys.ALWAYS_VISIBLE, ())
    texts = _references(named, tell)
    return Presenting(
        presentation=values.value(presentation_keys.PRESENTATION, usual.presentation),
        threshold=values.value(presentation_keys.THRESHOLD, usual.threshold),
        materialised=values.value(presentation_keys.MATERIALISED, usual.materialised),
        always_visible=tuple(
            Listed(text, place.at(name), isinstance(name.value, OptionalName))
            for text, name in zip(texts, named, strict=True)
        ),
    )


def _confirmation(said: Placed[Values] | None, place: Place) -> ConfirmationSetting | None:
    mode = None if said is None else said.value.get(keys.MODE)
    return None if mode is None else ConfirmationSetting(ConfirmationLevel.BOARD, "", mode.value, place.at(mode))


def _confirmation_seconds(said: Placed[Values] | None) -> float:
    usual = Declared().confirmation_seconds
    return usual if said is None else said.value.value(keys.DEADLINE, usual)


def _standing_days(said: Placed[Values] | None) -> int | None:
    days = None if said is None else said.value.get(keys.STANDING_DAYS)
    if days is None:
        return Declared().standing_days
    return None if days.value == "never" else days.value


def _confirm_manifest_servers(said: Placed[Values] | None, place: Place) -> DeclaredAt | None:
    asks = None if said is None else said.value.get(keys.CONFIRM_MANIFEST_SERVERS)
    return place.at(asks) if asks is not None and asks.value else None


def server(key: ServerKey, said: Placed[Values], place: Place, tell: Telling) -> Server:
    values = said.value
    return Server(
        key=key,
        connection=_connection(values, place, tell),
        origin=place.at(said),
        enabled=values.value(keys.ENABLED, True),
        trust=values.value(keys.TRUST, Trust.BASELINE),
        limit=_limit(values, key, place, tell),
        timeouts=_timeouts(values.get(keys.TIMEOUTS)),
        starts=_starts(values, tell),
        protocol=values.value(keys.PROTOCOL, Protocol.LATEST),
    )


def key_of(id: str, said: Placed[Values]) -> ServerKey:
    return ServerKey(ToolsetId(said.value.value(keys.TOOLSET, id)), ServerId(id))


def _connection(values: Values, place: Place, tell: Telling) -> Connection:
    if (url := values.get(keys.URL)) is not None:
        _check_url(url, tell)
        _check_headers(values.value(keys.HEADERS, {}), tell)
        transport = values.value(keys.TRANSPORT, Transport.STREAMABLE_HTTP)
        return Http(url.value, transport, _plain(values, keys.HEADERS), _oauth(values))
    command = values.value(keys.COMMAND, "")
    cwd = values.get(keys.CWD)
    return Stdio(
        command=place.path(command) if _SLASHES.search(command) else command,
        args=tuple(arg.value for arg in values.value(keys.ARGS, ())),
        env=_plain(values, keys.ENV),
        cwd=literal(str(place.folder)) if cwd is None else place.path(cwd.value),
    )


def _oauth(values: Values) -> OAuth | NoOAuth:
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


def _text(values: Values, key: Key[str]) -> str | None:
    said = values.get(key)
    return None if said is None else said.value


def _check_url(url: Placed[str], tell: Telling) -> None:
    if "${" in url.value:
        return
    try:
        split = urlsplit(url.value)
        usable = bool(split.hostname) and split.port != 0
    except ValueError:
        usable = False
    if not usable:
        tell.wrong(url.line, url.at, "no server can be at this URL: its host or port is not one. Correct it.")


def _check_headers(headers: Mapping[str, Placed[str]], tell: Telling) -> None:
    """To HTTP `X-Key` and `x-key` are one name, and which of the two values is sent would be luck."""
    written: dict[str, str] = {}
    for name, value in headers.items():
        if (before := written.setdefault(name.lower(), name)) != name:
            tell.wrong(value.line, value.at, f"this is the header {before!r} once more. Keep one of them.")


def _limit(values: Values, key: ServerKey, place: Place, tell: Telling) -> ToolLimit:
    only, all_but = values.get(keys.ENABLED_TOOLS), values.get(keys.DISABLED_TOOLS)
    if only is not None:
        return OnlyTools(*_own_names(only, key, place, tell))
    if all_but is not None:
        return AllButTools(*_own_names(all_but, key, place, tell))
    return EveryTool()


def _own_names(
    listed: Placed[tuple[Placed[str], ...]], key: ServerKey, place: Place, tell: Telling
) -> tuple[tuple[str, ...], DeclaredAt, tuple[str, ...], tuple[DeclaredAt, ...]]:
    """The names, where the list is, those of them that are optional, and where each is."""
    names = [*_names_of(listed.value, key, tell)]
    optional = tuple(name for name, written in names if isinstance(written.value, OptionalName))
    lines = tuple(place.at(written) for _, written in names)
    return tuple(name for name, _ in names), place.at(listed), optional, lines


def _names_of(names: Iterable[Placed[str]], key: ServerKey, tell: Telling) -> Iterator[tuple[str, Placed[str]]]:
    """The id that an answer shows is accepted as well as the tool's own name."""
    for name in names:
        if not name.value.startswith("mcp:"):
            yield str(name.value), name
            continue
        match tool_id(name.value):
            case ToolId(source, own) if source == key:
                yield own, name
            case LegacyToolId(server, own) if server == key.server:
                yield own, name
            case BadId(_, why):
                tell.wrong(name.line, name.at, f"{why}.")
            case other:
                tell.wrong(name.line, name.at, f"{str(other)!r} is not a tool of {key}. Move it to its own server.")


def _timeouts(said: Placed[Values] | None) -> Timeouts:
    usual = Timeouts()
    if said is None:
        return usual
    return Timeouts(
        start=said.value.value(keys.START, usual.start),
        call=said.value.value(keys.CALL, usual.call),
        stop=said.value.value(keys.STOP, usual.stop),
    )


def _starts(values: Values, tell: Telling) -> Starts:
    usual: Starts = Always()
    said, idle = values.value(keys.STARTS, usual), values.get(keys.IDLE_STOP)
    if idle is None:
        return said
    if isinstance(said, OnDemand):
        return OnDemand(idle.value)
    tell.wrong(idle.line, idle.at, "this goes only with start: on_demand. Write that too, or remove this.")
    return said


def _plain(values: Values, key: Key[Mapping[str, Placed[str]]]) -> Mapping[str, str]:
    return {name: placed.value for name, placed in values.value(key, {}).items()}


def _toolsets(
    servers: Iterable[Server], said: Mapping[str, Placed[Values]], place: Place
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
            place.at(told),
            name=told.value.value(keys.TOOLSET_NAME, ""),
            description=told.value.value(keys.TOOLSET_DESCRIPTION, ""),
            enabled=told.value.value(keys.TOOLSET_ENABLED, True),
            user_mcp=standalone,
        )
    return board


def _selection(values: Values, tell: Telling) -> Selection:
    named = values.get(keys.SELECTED_TOOLSETS)
    chosen: Toolsets = Everything() if named is None else toolsets(name.value for name in named.value)
    return Selection(
        toolsets=chosen,
        enabled=tuple(_references(values.value(keys.SELECTED_TOOLS, ()), tell)),
        disabled=tuple(_references(values.value(keys.UNSELECTED_TOOLS, ()), tell)),
    )


def _selected(values: Values) -> Iterator[Placed[str]]:
    """Every name of the selection."""
    for key in (keys.SELECTED_TOOLSETS, keys.SELECTED_TOOLS, keys.UNSELECTED_TOOLS):
        yield from values.value(key, ())


def _references(names: Iterable[Placed[str]], tell: Telling) -> Iterator[str]:
    """Whether a name means a tool shows only on the board; whether it can mean one shows here."""
    for name in names:
        if isinstance(bad := reference(name.value), BadId):
            tell.wrong(name.line, name.at, f"{bad.why}.")
        yield str(name.value)


def _denials(written: Iterable[Placed[str]], place: Place, tell: Telling) -> Iterator[Denial]:
    for text in written:
        match pattern(text.value):
            case Pattern() as denied:
                yield Denial(denied, place.at(text), isinstance(text.value, OptionalName))
            case BadId(_, why):
                tell.wrong(text.line, text.at, f"{why}.")


def _grants(
    said: Mapping[str, Placed[tuple[Placed[str], ...]]],
) -> Mapping[PrincipalId, frozenset[ToolsetId]]:
    """`all` limits nothing, and so it is as if nothing was said of this caller."""
    return {
        PrincipalId(who): frozenset(ToolsetId(name.value) for name in names.value)
        for who, names in said.items()
        if all(name.value != "all" for name in names.value)
    }
