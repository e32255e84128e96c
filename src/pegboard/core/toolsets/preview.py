"""What an import would change, as values. It says which settings differ, without their values.

Values of settings are in none of it: they may be secrets, and it is told which of them differ.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from enum import Enum
from typing import Final, TypeVar, assert_never
from urllib.parse import urlsplit

from pegboard.core.commands.toolset_install import InstallToolset, reworded_tools, tools_losing_confirmation
from pegboard.core.model.ids import ServerKey, ToolId, ToolsetId, ToolsetKey
from pegboard.core.model.redaction import DisplayLimits as TextBounds
from pegboard.core.model.redaction import is_secret, redact_line, shorten, to_json_line
from pegboard.core.model.server import Connection, Container, Http, Server, Stdio
from pegboard.core.model.text import MAX_NAME_CHARS, quote_name
from pegboard.core.model.tool import MIB, ContainerImage, ContainerTool, OwnTools, ToolsetLimits, ToolSpec
from pegboard.core.model.toolset import Toolset, ToolsetFile, is_same_version
from pegboard.core.model.toolset import is_downgrade as is_downgrade
from pegboard.core.model.web_api import WebApi
from pegboard.core.overrides.model import ArgumentOverride, FrozenJson, Override
from pegboard.core.policy.policy import Policy

# How a source is reached, in words for whoever decides about it: what will run, and what it will get.

_HIDDEN_TEXT: Final = "[hidden]"


def describe_connection(connection: Connection) -> str:
    """Of variables and headers only the names, and nothing that looks like a secret."""
    match connection:
        case Stdio(command, args, env, _):
            line = " ".join(_safe_word(arg) for arg in (command, *_redact_arguments(args)))
            return f"runs {line}{_names_only('the variables', env)}"
        case Http(url, _, headers, _):
            return f"is reached at {quote_name(_url_origin(url))}{_names_only('the headers', headers)}"
        case Container(image):
            return _describe_image(image)
        case OwnTools():
            return "runs functions and commands of its own"
        case WebApi(base_url=url):
            return f"is reached at {quote_name(_url_origin(url))}" if url else "is reached where its callers say"
        case _:
            assert_never(connection)


def _describe_image(image: ContainerImage) -> str:
    line = " ".join(_safe_word(arg) for arg in (image.image, *_redact_arguments(image.args)))
    gets = [what for what, given in (("the network", image.network), ("its workspace", image.workspace)) if given]
    return (
        f"runs the image {line}{' with ' + ' and '.join(gets) if gets else ''}{_names_only('the variables', image.env)}"
    )


def _names_only(what: str, given: Mapping[str, str]) -> str:
    names = sorted(given)
    return f", with {what} {', '.join(map(quote_name, names))}" if names else ""


def _redact_arguments(args: tuple[str, ...]) -> list[str]:
    """What follows a flag that is named like a secret is one."""
    flags = ("", *args)
    return [
        _HIDDEN_TEXT if flag.startswith("-") and "=" not in flag and is_secret(flag.lstrip("-")) else arg
        for flag, arg in zip(flags, args, strict=False)
    ]


def _safe_word(text: str) -> str:
    return quote_name(redact_line(text, MAX_NAME_CHARS))


def _url_origin(url: str) -> str:
    """Without its path and query, which may hold a key."""
    try:
        split = urlsplit(url)
    except ValueError:
        return "a place that cannot be told"
    if not split.scheme or not split.hostname:
        return redact_line(url, MAX_NAME_CHARS) if url.startswith("${") else "a place that cannot be told"
    return f"{split.scheme}://{split.netloc.rpartition('@')[2]}"


K = TypeVar("K")
V = TypeVar("V")


class VersionChange(Enum):
    """How the version that is imported stands to the one that is there."""

    FIRST = "first"
    SAME = "same"
    UPGRADE = "upgrade"
    DOWNGRADE = "downgrade"


class PartChange(Enum):
    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


@dataclass(frozen=True)
class ToolDifference:
    """One of the toolset's own tools. Those of servers are known only when they run."""

    tool: ToolId
    before: ToolSpec | None
    after: ToolSpec | None

    @property
    def change(self) -> PartChange:
        return (
            PartChange.ADDED
            if self.before is None
            else PartChange.REMOVED
            if self.after is None
            else PartChange.CHANGED
        )


@dataclass(frozen=True, slots=True)
class PartDifference:
    """A server, an override or a file, by what it is called; of a changed one, which of its settings differ."""

    name: str
    change: PartChange
    settings: tuple[str, ...] = ()
    details: tuple[str, ...] = ()
    """What it will run, or what it will have models read."""


@dataclass(frozen=True)
class InstallDifferences:
    toolset: ToolsetId
    version_change: VersionChange
    before: str
    """The version that is there; empty when none is, or when it has none."""
    after: str
    changed_fields: tuple[str, ...] = ()
    """Which of name and description differ."""
    tools: tuple[ToolDifference, ...] = ()
    servers: tuple[PartDifference, ...] = ()
    overrides: tuple[PartDifference, ...] = ()
    files: tuple[PartDifference, ...] = ()
    reworded_tools: tuple[ToolId, ...] = ()
    """Tools that wait for approval because the manifest's overrides have them shown, or run, in another way."""
    containers: tuple[PartDifference, ...] = ()
    """Those that commands of its own run in."""
    tools_losing_confirmation: tuple[ToolId, ...] = ()
    """Those of them of which calls were asked about, and would be no longer."""
    executed_parts: tuple[PartDifference, ...] = ()
    """Its own tools, by name, that run something else than they did; and new ones that run a command."""
    run_changes: tuple[str, ...] = ()
    """What differs in how its own tools are run: bounds, a workspace and the like, each in a sentence."""
    requirements: tuple[PartDifference, ...] = ()
    """Packages that are installed for its functions."""
    secrets: tuple[str, ...] = ()
    """Those that it asks for and did not ask for before."""

    @property
    def is_empty(self) -> bool:
        """Whether all would be as it is, but for who imported it and when."""
        parts = (
            *self.servers,
            *self.containers,
            *self.overrides,
            *self.files,
            *self.requirements,
            *self.executed_parts,
        )
        told = (self.changed_fields, self.tools, parts, self.run_changes, self.secrets)
        return self.version_change is VersionChange.SAME and self.before == self.after and not any(told)

    @property
    def reviewed_tools(self) -> tuple[ToolId, ...]:
        """What a person has read when they have read this: with these named, an import approves them."""
        changed = [each.tool for each in self.tools if each.after is not None]
        own = [tool for tool in self.reworded_tools if tool.source == ToolsetKey(self.toolset) and tool not in changed]
        return (*changed, *own)


ConnectionDescriber = Callable[[Connection], tuple[str, ...]]
"""What a connection runs and gets, in lines for whoever decides."""


def plain_description(connection: Connection) -> tuple[str, ...]:
    return (describe_connection(connection),)


def install_differences(
    policy: Policy, install: InstallToolset, reached: ConnectionDescriber = plain_description
) -> InstallDifferences:
    decided, id = policy.decisions, install.toolset.id
    former = decided.toolsets.get(id)
    servers = {key: server for key, server in decided.servers.items() if key.toolset == id}
    own = servers.get(ToolsetKey(id))
    was = own.connection if own is not None and isinstance(own.connection, OwnTools) else None
    now = install.own
    rows = [row for row in decided.manifest_overrides if row.toolset == id]
    return InstallDifferences(
        id,
        _version_change(former, install.toolset),
        "" if former is None else former.version,
        install.toolset.version,
        changed_fields=() if former is None else _changed_attributes(former, install.toolset, ("name", "description")),
        tools=tuple(_tool_differences(id, was, install.specs)),
        servers=tuple(_server_differences(servers.values(), install.servers, reached)),
        overrides=tuple(_override_differences(rows, install.overrides)),
        reworded_tools=tuple(sorted(reworded_tools(decided, install))),
        tools_losing_confirmation=tuple(sorted(tools_losing_confirmation(decided, install))),
        containers=tuple(_container_differences(was, now, reached)),
        executed_parts=tuple(_executed_differences(was, now, reached)),
        files=tuple(_file_differences(decided.files.get(id, ()), install.files)),
        run_changes=tuple(
            _describe_run_changes(own, next((s for s in install.servers if s.key == ToolsetKey(id)), None))
        ),
        requirements=tuple(_requirement_differences(was, now)),
        secrets=tuple(name for name in _secret_names(now) if name not in _secret_names(was)),
    )


def _version_change(former: Toolset | None, toolset: Toolset) -> VersionChange:
    if former is None:
        return VersionChange.FIRST
    if is_same_version(former.version, toolset.version):
        return VersionChange.SAME
    return VersionChange.DOWNGRADE if is_downgrade(former.version, toolset.version) else VersionChange.UPGRADE


def _tool_differences(id: ToolsetId, was: OwnTools | None, now: Mapping[ToolId, ToolSpec]) -> Iterator[ToolDifference]:
    former = {} if was is None else {ToolId(ToolsetKey(id), spec.name): spec for spec in was.specs}
    for tool in sorted({*former, *now}):
        before, after = former.get(tool), now.get(tool)
        if before is None or after is None or before.fingerprint != after.fingerprint:
            yield ToolDifference(tool, before, after)


def _server_differences(
    former: Iterable[Server], now: Iterable[Server], reached: ConnectionDescriber
) -> Iterator[PartDifference]:
    old = {str(server.key): server for server in former if isinstance(server.key, ServerKey)}
    new = {str(server.key): server for server in now if isinstance(server.key, ServerKey)}
    for name, before, after in _pair_by_name(old, new):
        told = () if after is None else reached(after.connection)
        if before is None or after is None:
            yield PartDifference(name, PartChange.ADDED if before is None else PartChange.REMOVED, details=told)
        elif settings := (
            *_changed_connection_settings(before.connection, after.connection),
            *_changed_attributes(before, after, _SETTING_TEXTS),
        ):
            yield PartDifference(name, PartChange.CHANGED, settings, told)


def _requirement_differences(was: OwnTools | None, now: OwnTools | None) -> Iterator[PartDifference]:
    old, new = (() if own is None else own.requirements for own in (was, now))
    yield from (PartDifference(each, PartChange.ADDED) for each in new if each not in old)
    yield from (PartDifference(each, PartChange.REMOVED) for each in old if each not in new)


def _container_differences(
    was: OwnTools | None, now: OwnTools | None, reached: ConnectionDescriber
) -> Iterator[PartDifference]:
    old, new = ({} if own is None else own.containers for own in (was, now))
    for name, before, after in _pair_by_name(old, new):
        told = () if after is None else reached(Container(after))
        if before is None or after is None:
            yield PartDifference(name, PartChange.ADDED if before is None else PartChange.REMOVED, details=told)
        elif before != after:
            told = (*told, *describe_limit_changes(before, after))
            yield PartDifference(name, PartChange.CHANGED, tuple(_changed_nested_settings(before, after)), told)


_SETTING_TEXTS: Final = {
    "enabled": "on or off",
    "trust": "another trust",
    "limit": "another choice of tools",
    "timeouts": "other timeouts",
    "starts": "started at another time",
    "protocol": "another protocol",
}


def _changed_connection_settings(before: object, after: object) -> tuple[str, ...]:
    """By the names of the settings, down to that of a variable or header, and never by what they hold."""
    if type(before) is not type(after):
        return ("connection",)
    return tuple(_changed_nested_settings(before, after))


def _changed_nested_settings(before: object, after: object) -> Iterator[str]:
    for field in fields(before):  # type: ignore[arg-type]  # every connection is a dataclass
        one, other = getattr(before, field.name), getattr(after, field.name)
        if one == other:
            continue
        if isinstance(one, Mapping) and isinstance(other, Mapping):
            yield from (f"{field.name}.{name}" for name in sorted({*one, *other}) if one.get(name) != other.get(name))
        elif hasattr(one, "__dataclass_fields__") and type(one) is type(other):
            yield from _changed_nested_settings(one, other)
        else:
            yield field.name


def _override_differences(former: Iterable[Override], now: Iterable[Override]) -> Iterator[PartDifference]:
    old, new = ({str(row.target): row for row in rows if row.fields_set} for rows in (former, now))
    for name, before, after in _pair_by_name(old, new):
        if before is None or after is None:
            row = before or after
            assert row is not None
            how = PartChange.ADDED if before is None else PartChange.REMOVED
            yield PartDifference(
                name, how, row.fields_set, tuple(_describe_override_settings(before, after, row.fields_set))
            )
        elif settings := _changed_attributes(
            before, after, tuple(dict.fromkeys((*before.fields_set, *after.fields_set)))
        ):
            yield PartDifference(
                name, PartChange.CHANGED, settings, tuple(_describe_override_settings(before, after, settings))
            )


def _describe_override_settings(
    before: Override | None, after: Override | None, settings: Iterable[str]
) -> Iterator[str]:
    """What these of its settings say now, and said. What it puts into arguments may be a secret, and is not told."""
    for name in settings:
        was, now = (None if row is None else getattr(row, name) for row in (before, after))
        if name in _TEXT_FIELDS and now is not None:
            yield f"{name}: {quote_name(redact_line(now, MAX_NAME_CHARS))}"
        elif name in _PLAIN_FIELDS:
            said = [f"{name}: {_value_text(now)}"] if after is not None else [f"{name} is not said any more"]
            yield ", ".join((*said, *([f"was {_value_text(was)}"] if before is not None else [])))
        elif name == "arguments":
            former: Mapping[str, ArgumentOverride] = was or {}
            latest: Mapping[str, ArgumentOverride] = now or {}
            yield from (
                line
                for key in dict.fromkeys((*latest, *former))
                if latest.get(key) != former.get(key)
                for line in _describe_argument(
                    key, former.get(key, ArgumentOverride()), latest.get(key, ArgumentOverride())
                )
            )


def _describe_argument(name: str, was: ArgumentOverride, said: ArgumentOverride) -> Iterator[str]:
    """Values that callers do not send may be secrets. A default is sent by callers, who read it in the schema."""
    place = f"arguments.{quote_name(name)}"
    if said.default != was.default:
        now = "no default any more" if said.default is None else f"default {_default_text(said.default)}"
        before = "" if was.default is None else f", was {_default_text(was.default)}"
        yield f"{place}: {now}{before}"
    if said.is_fixed:
        yield f"{place}: {'pinned' if said.pin is not None else 'hidden'}"
    if said.description is not None:
        yield f"{place}: {quote_name(redact_line(said.description, MAX_NAME_CHARS))}"


def _default_text(default: FrozenJson) -> str:
    return to_json_line(shorten(default.value, _DEFAULT_BOUNDS))


def _value_text(value: object) -> str:
    return (
        {True: "true", False: "false", None: "not said"}[value] if value in (True, False, None) else quote_name(value)
    )


_DEFAULT_BOUNDS: Final = TextBounds(text=MAX_NAME_CHARS, total=2_000)
_TEXT_FIELDS: Final = frozenset({"name_override", "description_override"})
_PLAIN_FIELDS: Final = frozenset({"requires_confirmation", "confirmation", "enabled", "renderer"})


def _file_differences(former: Iterable[ToolsetFile], now: Iterable[ToolsetFile]) -> Iterator[PartDifference]:
    old, new = ({file.path: file for file in files} for files in (former, now))
    for name, before, after in _pair_by_name(old, new):
        if before is None or after is None:
            yield PartDifference(name, PartChange.ADDED if before is None else PartChange.REMOVED)
        elif (before.sha256, before.executable) != (after.sha256, after.executable):
            yield PartDifference(name, PartChange.CHANGED)


def _executed_differences(
    was: OwnTools | None, now: OwnTools | None, reached: ConnectionDescriber
) -> Iterator[PartDifference]:
    """That a function is new is told by its tool; which command a new one runs, nothing else would tell."""
    old, new = (_commands_by_name(own, reached) for own in (was, now))
    commands = {tool.spec.name for tool in (() if now is None else now.commands)}
    for name, before, after in _pair_by_name(old, new):
        if after is not None and before is None and name in commands:
            yield PartDifference(name, PartChange.ADDED, details=(after,))
        elif after is not None and before is not None and before != after:
            yield PartDifference(name, PartChange.CHANGED, details=(after, f"and before: {before}"))


def _commands_by_name(own: OwnTools | None, reached: ConnectionDescriber) -> dict[str, str]:
    if own is None:
        return {}
    functions = {tool.spec.name: f"runs {quote_name(tool.entrypoint)}" for tool in own.python}
    return functions | {tool.spec.name: _command_text(tool, reached) for tool in own.commands}


def _command_text(tool: ContainerTool, reached: ConnectionDescriber) -> str:
    first, *rest = tool.command or ("the image's own command",)
    told = "; ".join(reached(Stdio(first, tuple(rest))))
    most = "" if tool.seconds is None else f", for {tool.seconds:g} s at most"
    return f"{told} in the container {quote_name(tool.container)}{most}"


def _describe_run_changes(before: Server | None, after: Server | None) -> Iterator[str]:
    """Of what was there and is there. That its files are others is told by their names."""
    if before is None or after is None:
        return
    was, now = before.connection, after.connection
    if isinstance(was, OwnTools) and isinstance(now, OwnTools):
        yield from (f"its own tools: {line}" for line in describe_limit_changes(was.bounds, now.bounds))
        if was.workspace != now.workspace:
            yield f"its own tools get {'a' if now.workspace else 'no'} workspace{'' if now.workspace else ' any more'}"
        if was.linked != now.linked:
            yield "its own tools run from another folder"
        if was.bounds.seconds != now.bounds.seconds:
            after = replace(after, timeouts=before.timeouts)  # they follow from it
    yield from (f"its own tools: {_SETTING_TEXTS[name]}" for name in _changed_attributes(before, after, _SETTING_TEXTS))


def describe_limit_changes(
    before: ToolsetLimits | ContainerImage, after: ToolsetLimits | ContainerImage
) -> Iterator[str]:
    """What may be taken now, and what might be before."""
    for name in _changed_attributes(before, after, [name for name in _LIMIT_NAMES if hasattr(before, name)]):
        what, one, other = _LIMIT_NAMES[name], getattr(before, name), getattr(after, name)
        yield f"{what} {_amount_text(name, other)}, was {_amount_text(name, one)}"


def _amount_text(name: str, value: float | None) -> str:
    if value is None:
        return "as it likes"
    return f"{value / MIB:,.0f} MB" if name == "memory" else f"{value:g} s" if name == "seconds" else f"{value:g}"


_LIMIT_NAMES: Final = {
    "memory": "memory of a process",
    "seconds": "time of a call",
    "processes": "processes at a time",
    "pids": "processes",
    "cpus": "processors",
}


def _secret_names(own: OwnTools | None) -> tuple[str, ...]:
    return () if own is None else own.secrets


def _pair_by_name(old: Mapping[str, V], new: Mapping[str, V]) -> Iterator[tuple[str, V | None, V | None]]:
    for name in sorted({*old, *new}):
        yield name, old.get(name), new.get(name)


def _changed_attributes(before: object, after: object, names: Iterable[str]) -> tuple[str, ...]:
    return tuple(name for name in names if getattr(before, name) != getattr(after, name))
