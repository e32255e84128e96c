"""What importing a toolset would change, before it does, as values.

Values of settings are in none of it: they may be secrets, and it is told which of them differ.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from enum import Enum
from typing import Final, TypeVar

from .argument import Argument, Held
from .ids import ServerKey, ToolId, ToolsetId, ToolsetKey
from .imported import InstallToolset, reworded, unasked
from .override import Override
from .own import MIB, Bounds, ContainerTool, Image, Own
from .policy import Policy
from .reached import reach_words
from .redact import Bounds as TextBounds
from .redact import one_line, safe_text, shorten
from .said import LONGEST, plainly
from .server import Connection, Container, Server, Stdio
from .tool import ToolSpec
from .toolset import Toolset, ToolsetFile
from .versions import is_downgrade as is_downgrade
from .versions import is_same

K = TypeVar("K")
V = TypeVar("V")


class Course(Enum):
    """How the version that is imported stands to the one that is there."""

    FIRST = "first"
    SAME = "same"
    UPGRADE = "upgrade"
    DOWNGRADE = "downgrade"


class How(Enum):
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
    def how(self) -> How:
        return How.ADDED if self.before is None else How.REMOVED if self.after is None else How.CHANGED


@dataclass(frozen=True, slots=True)
class PartDifference:
    """A server, an override or a file, by what it is called; of a changed one, which of its settings differ."""

    name: str
    how: How
    settings: tuple[str, ...] = ()
    told: tuple[str, ...] = ()
    """What it will run, or what it will have models read."""


@dataclass(frozen=True)
class Differences:
    toolset: ToolsetId
    course: Course
    before: str
    """The version that is there; empty when none is, or when it has none."""
    after: str
    about: tuple[str, ...] = ()
    """Which of name and description differ."""
    tools: tuple[ToolDifference, ...] = ()
    servers: tuple[PartDifference, ...] = ()
    overrides: tuple[PartDifference, ...] = ()
    files: tuple[PartDifference, ...] = ()
    reworded: tuple[ToolId, ...] = ()
    """Tools that wait for approval because the manifest's overrides have them shown, or run, in another way."""
    containers: tuple[PartDifference, ...] = ()
    """Those that commands of its own run in."""
    unasked: tuple[ToolId, ...] = ()
    """Those of them of which calls were asked about, and would be no longer."""
    executed: tuple[PartDifference, ...] = ()
    """Its own tools, by name, that run something else than they did; and new ones that run a command."""
    running: tuple[str, ...] = ()
    """What differs in how its own tools are run: bounds, a workspace and the like, each in a sentence."""
    requirements: tuple[PartDifference, ...] = ()
    """Packages that are installed for its functions."""
    secrets: tuple[str, ...] = ()
    """Those that it asks for and did not ask for before."""

    @property
    def is_nothing(self) -> bool:
        """Whether all would be as it is, but for who imported it and when."""
        parts = (*self.servers, *self.containers, *self.overrides, *self.files, *self.requirements, *self.executed)
        told = (self.about, self.tools, parts, self.running, self.secrets)
        return self.course is Course.SAME and self.before == self.after and not any(told)

    @property
    def unread(self) -> tuple[ToolId, ...]:
        """What a person has read when they have read this: with these named, an import approves them."""
        changed = [each.tool for each in self.tools if each.after is not None]
        own = [tool for tool in self.reworded if tool.source == ToolsetKey(self.toolset) and tool not in changed]
        return (*changed, *own)


Reached = Callable[[Connection], tuple[str, ...]]
"""What a connection runs and gets, in lines for whoever decides."""


def plainly_reached(connection: Connection) -> tuple[str, ...]:
    return (reach_words(connection),)


def differences(policy: Policy, install: InstallToolset, reached: Reached = plainly_reached) -> Differences:
    decided, id = policy.decided, install.toolset.id
    former = decided.toolsets.get(id)
    servers = {key: server for key, server in decided.servers.items() if key.toolset == id}
    own = servers.get(ToolsetKey(id))
    was = own.connection if own is not None and isinstance(own.connection, Own) else None
    now = install.own
    rows = [row for row in decided.manifest_overrides if row.toolset == id]
    return Differences(
        id,
        _course(former, install.toolset),
        "" if former is None else former.version,
        install.toolset.version,
        about=() if former is None else _unlike(former, install.toolset, ("name", "description")),
        tools=tuple(_tools(id, was, install.specs)),
        servers=tuple(_servers(servers.values(), install.servers, reached)),
        overrides=tuple(_overrides(rows, install.overrides)),
        reworded=tuple(sorted(reworded(decided, install))),
        unasked=tuple(sorted(unasked(decided, install))),
        containers=tuple(_containers(was, now, reached)),
        executed=tuple(_executed(was, now, reached)),
        files=tuple(_files(decided.files.get(id, ()), install.files)),
        running=tuple(_running(own, next((s for s in install.servers if s.key == ToolsetKey(id)), None))),
        requirements=tuple(_requirements(was, now)),
        secrets=tuple(name for name in _secrets(now) if name not in _secrets(was)),
    )


def _course(former: Toolset | None, toolset: Toolset) -> Course:
    if former is None:
        return Course.FIRST
    if is_same(former.version, toolset.version):
        return Course.SAME
    return Course.DOWNGRADE if is_downgrade(former.version, toolset.version) else Course.UPGRADE


def _tools(id: ToolsetId, was: Own | None, now: Mapping[ToolId, ToolSpec]) -> Iterator[ToolDifference]:
    former = {} if was is None else {ToolId(ToolsetKey(id), spec.name): spec for spec in was.specs}
    for tool in sorted({*former, *now}):
        before, after = former.get(tool), now.get(tool)
        if before is None or after is None or before.fingerprint != after.fingerprint:
            yield ToolDifference(tool, before, after)


def _servers(former: Iterable[Server], now: Iterable[Server], reached: Reached) -> Iterator[PartDifference]:
    old = {str(server.key): server for server in former if isinstance(server.key, ServerKey)}
    new = {str(server.key): server for server in now if isinstance(server.key, ServerKey)}
    for name, before, after in _paired(old, new):
        told = () if after is None else reached(after.connection)
        if before is None or after is None:
            yield PartDifference(name, How.ADDED if before is None else How.REMOVED, told=told)
        elif settings := (*_connected(before.connection, after.connection), *_unlike(before, after, _TERMS)):
            yield PartDifference(name, How.CHANGED, settings, told)


def _requirements(was: Own | None, now: Own | None) -> Iterator[PartDifference]:
    old, new = (() if own is None else own.requirements for own in (was, now))
    yield from (PartDifference(each, How.ADDED) for each in new if each not in old)
    yield from (PartDifference(each, How.REMOVED) for each in old if each not in new)


def _containers(was: Own | None, now: Own | None, reached: Reached) -> Iterator[PartDifference]:
    old, new = ({} if own is None else own.containers for own in (was, now))
    for name, before, after in _paired(old, new):
        told = () if after is None else reached(Container(after))
        if before is None or after is None:
            yield PartDifference(name, How.ADDED if before is None else How.REMOVED, told=told)
        elif before != after:
            told = (*told, *bounds_words(before, after))
            yield PartDifference(name, How.CHANGED, tuple(_unlike_within(before, after)), told)


_TERMS: Final = {
    "enabled": "on or off",
    "trust": "another trust",
    "limit": "another choice of tools",
    "timeouts": "other timeouts",
    "starts": "started at another time",
    "protocol": "another protocol",
}


def _connected(before: object, after: object) -> tuple[str, ...]:
    """By the names of the settings, down to that of a variable or header, and never by what they hold."""
    if type(before) is not type(after):
        return ("connection",)
    return tuple(_unlike_within(before, after))


def _unlike_within(before: object, after: object) -> Iterator[str]:
    for field in fields(before):  # type: ignore[arg-type]  # every connection is a dataclass
        one, other = getattr(before, field.name), getattr(after, field.name)
        if one == other:
            continue
        if isinstance(one, Mapping) and isinstance(other, Mapping):
            yield from (f"{field.name}.{name}" for name in sorted({*one, *other}) if one.get(name) != other.get(name))
        elif hasattr(one, "__dataclass_fields__") and type(one) is type(other):
            yield from _unlike_within(one, other)
        else:
            yield field.name


def _overrides(former: Iterable[Override], now: Iterable[Override]) -> Iterator[PartDifference]:
    old, new = ({str(row.target): row for row in rows if row.says} for rows in (former, now))
    for name, before, after in _paired(old, new):
        if before is None or after is None:
            row = before or after
            assert row is not None
            how = How.ADDED if before is None else How.REMOVED
            yield PartDifference(name, how, row.says, tuple(_said(before, after, row.says)))
        elif settings := _unlike(before, after, tuple(dict.fromkeys((*before.says, *after.says)))):
            yield PartDifference(name, How.CHANGED, settings, tuple(_said(before, after, settings)))


def _said(before: Override | None, after: Override | None, settings: Iterable[str]) -> Iterator[str]:
    """What these of its settings say now, and said. What it puts into arguments may be a secret, and is not told."""
    for name in settings:
        was, now = (None if row is None else getattr(row, name) for row in (before, after))
        if name in _WORDS and now is not None:
            yield f"{name}: {plainly(safe_text(now, LONGEST))}"
        elif name in _SWITCHES:
            said = [f"{name}: {_word(now)}"] if after is not None else [f"{name} is not said any more"]
            yield ", ".join((*said, *([f"was {_word(was)}"] if before is not None else [])))
        elif name == "arguments":
            former: Mapping[str, Argument] = was or {}
            latest: Mapping[str, Argument] = now or {}
            yield from (
                line
                for key in dict.fromkeys((*latest, *former))
                if latest.get(key) != former.get(key)
                for line in _of_argument(key, former.get(key, Argument()), latest.get(key, Argument()))
            )


def _of_argument(name: str, was: Argument, said: Argument) -> Iterator[str]:
    """Values that callers do not send may be secrets. A default is sent by callers, who read it in the schema."""
    place = f"arguments.{plainly(name)}"
    if said.default != was.default:
        now = "no default any more" if said.default is None else f"default {_shown_default(said.default)}"
        before = "" if was.default is None else f", was {_shown_default(was.default)}"
        yield f"{place}: {now}{before}"
    if said.is_fixed:
        yield f"{place}: {'pinned' if said.pin is not None else 'hidden'}"
    if said.description is not None:
        yield f"{place}: {plainly(safe_text(said.description, LONGEST))}"


def _shown_default(default: Held) -> str:
    return one_line(shorten(default.value, _DEFAULT))


def _word(value: object) -> str:
    return {True: "true", False: "false", None: "not said"}[value] if value in (True, False, None) else plainly(value)


_DEFAULT: Final = TextBounds(text=LONGEST, whole=2_000)
_WORDS: Final = frozenset({"name_override", "description_override"})
_SWITCHES: Final = frozenset({"requires_confirmation", "confirmation", "enabled", "renderer"})


def _files(former: Iterable[ToolsetFile], now: Iterable[ToolsetFile]) -> Iterator[PartDifference]:
    old, new = ({file.path: file for file in files} for files in (former, now))
    for name, before, after in _paired(old, new):
        if before is None or after is None:
            yield PartDifference(name, How.ADDED if before is None else How.REMOVED)
        elif (before.sha256, before.executable) != (after.sha256, after.executable):
            yield PartDifference(name, How.CHANGED)


def _executed(was: Own | None, now: Own | None, reached: Reached) -> Iterator[PartDifference]:
    """That a function is new is told by its tool; which command a new one runs, nothing else would tell."""
    old, new = (_runs(own, reached) for own in (was, now))
    commands = {tool.spec.name for tool in (() if now is None else now.commands)}
    for name, before, after in _paired(old, new):
        if after is not None and before is None and name in commands:
            yield PartDifference(name, How.ADDED, told=(after,))
        elif after is not None and before is not None and before != after:
            yield PartDifference(name, How.CHANGED, told=(after, f"and before: {before}"))


def _runs(own: Own | None, reached: Reached) -> dict[str, str]:
    if own is None:
        return {}
    functions = {tool.spec.name: f"runs {plainly(tool.entrypoint)}" for tool in own.python}
    return functions | {tool.spec.name: _command(tool, reached) for tool in own.commands}


def _command(tool: ContainerTool, reached: Reached) -> str:
    first, *rest = tool.command or ("the image's own command",)
    told = "; ".join(reached(Stdio(first, tuple(rest))))
    most = "" if tool.seconds is None else f", for {tool.seconds:g} s at most"
    return f"{told} in the container {plainly(tool.container)}{most}"


def _running(before: Server | None, after: Server | None) -> Iterator[str]:
    """Of what was there and is there. That its files are others is told by their names."""
    if before is None or after is None:
        return
    was, now = before.connection, after.connection
    if isinstance(was, Own) and isinstance(now, Own):
        yield from (f"its own tools: {line}" for line in bounds_words(was.bounds, now.bounds))
        if was.workspace != now.workspace:
            yield f"its own tools get {'a' if now.workspace else 'no'} workspace{'' if now.workspace else ' any more'}"
        if was.linked != now.linked:
            yield "its own tools run from another folder"
        if was.bounds.seconds != now.bounds.seconds:
            after = replace(after, timeouts=before.timeouts)  # they follow from it
    yield from (f"its own tools: {_TERMS[name]}" for name in _unlike(before, after, _TERMS))


def bounds_words(before: Bounds | Image, after: Bounds | Image) -> Iterator[str]:
    """What may be taken now, and what might be before."""
    for name in _unlike(before, after, [name for name in _BOUNDS if hasattr(before, name)]):
        what, one, other = _BOUNDS[name], getattr(before, name), getattr(after, name)
        yield f"{what} {_amount(name, other)}, was {_amount(name, one)}"


def _amount(name: str, value: float | None) -> str:
    if value is None:
        return "as it likes"
    return f"{value / MIB:,.0f} MB" if name == "memory" else f"{value:g} s" if name == "seconds" else f"{value:g}"


_BOUNDS: Final = {
    "memory": "memory of a process",
    "seconds": "time of a call",
    "processes": "processes at a time",
    "pids": "processes",
    "cpus": "processors",
}


def _secrets(own: Own | None) -> tuple[str, ...]:
    return () if own is None else own.secrets


def _paired(old: Mapping[str, V], new: Mapping[str, V]) -> Iterator[tuple[str, V | None, V | None]]:
    for name in sorted({*old, *new}):
        yield name, old.get(name), new.get(name)


def _unlike(before: object, after: object, names: Iterable[str]) -> tuple[str, ...]:
    return tuple(name for name in names if getattr(before, name) != getattr(after, name))
