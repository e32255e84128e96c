"""What importing a toolset would change, before it does: as values, and in words for whoever decides.

Values of settings are in none of it: they may be secrets, and it is told which of them differ.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from enum import Enum
from typing import Final, TypeVar

from .diff import diff, sentence
from .ids import ServerKey, ToolId, ToolsetId, ToolsetKey
from .imported import InstallToolset, reworded
from .override import Override
from .own import Own
from .policy import Policy
from .reached import reach_words
from .redact import safe_text
from .said import LONGEST, plainly
from .server import Container, Server
from .tool import ToolSpec
from .toolset import Toolset, ToolsetFile
from .versions import is_downgrade as is_downgrade
from .versions import is_same

K = TypeVar("K")
V = TypeVar("V")

MOST_CHANGES: Final = 20
"""Of one tool that are told in words."""


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
    running: tuple[str, ...] = ()
    """What differs in how its own tools are run: requirements, bounds, containers and the like."""
    secrets: tuple[str, ...] = ()
    """Those that it asks for and did not ask for before."""

    @property
    def is_nothing(self) -> bool:
        """Whether all would be as it is, but for who imported it and when."""
        parts = (*self.servers, *self.containers, *self.overrides, *self.files)
        told = (self.about, self.tools, parts, self.running, self.secrets)
        return self.course is Course.SAME and self.before == self.after and not any(told)

    @property
    def unread(self) -> tuple[ToolId, ...]:
        """What a person has read when they have read this: with these named, an import approves them."""
        changed = [each.tool for each in self.tools if each.after is not None]
        own = [tool for tool in self.reworded if tool.source == ToolsetKey(self.toolset) and tool not in changed]
        return (*changed, *own)


def differences(policy: Policy, install: InstallToolset) -> Differences:
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
        servers=tuple(_servers(servers.values(), install.servers)),
        overrides=tuple(_overrides(rows, install.overrides)),
        reworded=tuple(sorted(reworded(decided, install))),
        containers=tuple(_containers(was, now)),
        files=tuple(_files(decided.files.get(id, ()), install.files)),
        running=tuple(_running(own, next((s for s in install.servers if s.key == ToolsetKey(id)), None))),
        secrets=tuple(name for name in _secrets(now) if name not in _secrets(was)),
    )


def words(found: Differences) -> tuple[str, ...]:
    """A line for each thing, the most important first. Texts of others stand in it cut short and harmless."""
    return (
        _headline(found),
        *(f"asks for the secret {plainly(name)}" for name in found.secrets),
        *(line for each in found.tools for line in _tool_words(each)),
        *(line for each in found.servers for line in _part_words("server", each)),
        *(line for each in found.containers for line in _part_words("container", each)),
        *(line for each in found.overrides for line in _part_words("override of", each)),
        *(f"{plainly(tool)} waits for approval, because it is shown in another way" for tool in found.reworded),
        *(f"its own tools run with other {name}" for name in found.running),
        *(f"another {name}" for name in found.about),
        *_file_words(found.files),
    )


def _course(former: Toolset | None, toolset: Toolset) -> Course:
    if former is None:
        return Course.FIRST
    if is_same(former.version, toolset.version):
        return Course.SAME
    return Course.DOWNGRADE if is_downgrade(former.version, toolset.version) else Course.UPGRADE


def _headline(found: Differences) -> str:
    before, after = (plainly(version) if version else "no version" for version in (found.before, found.after))
    match found.course:
        case Course.FIRST:
            return f"toolset {found.toolset} is new ({after})"
        case Course.SAME:
            return f"toolset {found.toolset} stays at {after}{': nothing changes' if found.is_nothing else ''}"
        case course:
            return f"toolset {found.toolset}: {course.value} from {before} to {after}"


def _tools(id: ToolsetId, was: Own | None, now: Mapping[ToolId, ToolSpec]) -> Iterator[ToolDifference]:
    former = {} if was is None else {ToolId(ToolsetKey(id), spec.name): spec for spec in was.specs}
    for tool in sorted({*former, *now}):
        before, after = former.get(tool), now.get(tool)
        if before is None or after is None or before.fingerprint != after.fingerprint:
            yield ToolDifference(tool, before, after)


def _servers(former: Iterable[Server], now: Iterable[Server]) -> Iterator[PartDifference]:
    old = {str(server.key): server for server in former if isinstance(server.key, ServerKey)}
    new = {str(server.key): server for server in now if isinstance(server.key, ServerKey)}
    for name, before, after in _paired(old, new):
        reached = () if after is None else (reach_words(after.connection),)
        if before is None or after is None:
            yield PartDifference(name, How.ADDED if before is None else How.REMOVED, told=reached)
        elif settings := (*_connected(before.connection, after.connection), *_unlike(before, after, _TERMS)):
            yield PartDifference(name, How.CHANGED, settings, reached)


def _containers(was: Own | None, now: Own | None) -> Iterator[PartDifference]:
    old, new = ({} if own is None else own.containers for own in (was, now))
    for name, before, after in _paired(old, new):
        told = () if after is None else (reach_words(Container(after)),)
        if before is None or after is None:
            yield PartDifference(name, How.ADDED if before is None else How.REMOVED, told=told)
        elif before != after:
            yield PartDifference(name, How.CHANGED, tuple(_unlike_within(before, after)), told)


_TERMS: Final = ("enabled", "trust", "limit", "timeouts", "starts", "protocol")


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
            yield PartDifference(name, how, row.says, _words_of(after, row.says))
        elif settings := _unlike(before, after, tuple(dict.fromkeys((*before.says, *after.says)))):
            yield PartDifference(name, How.CHANGED, settings, _words_of(after, settings))


def _words_of(row: Override | None, settings: Iterable[str]) -> tuple[str, ...]:
    """What these of its settings have models read. What it puts into arguments may be a secret, and is not told."""
    said = {name: None if row is None else getattr(row, name) for name in settings if name in _WORDS}
    return tuple(f"{name}: {plainly(safe_text(text, LONGEST))}" for name, text in said.items() if text is not None)


_WORDS: Final = frozenset({"name_override", "description_override"})


def _files(former: Iterable[ToolsetFile], now: Iterable[ToolsetFile]) -> Iterator[PartDifference]:
    old, new = ({file.path: file for file in files} for files in (former, now))
    for name, before, after in _paired(old, new):
        if before is None or after is None:
            yield PartDifference(name, How.ADDED if before is None else How.REMOVED)
        elif (before.sha256, before.executable) != (after.sha256, after.executable):
            yield PartDifference(name, How.CHANGED)


def _running(before: Server | None, after: Server | None) -> Iterator[str]:
    """Of what was there and is there. That its files are others is told by their names."""
    if before is None or after is None:
        return
    ours = {"digest", "python", "commands", "secrets"}
    found = _connected(before.connection, after.connection)
    yield from (name for name in found if name not in ours and not name.startswith("containers."))
    yield from _unlike(before, after, _TERMS)


def _secrets(own: Own | None) -> tuple[str, ...]:
    return () if own is None else own.secrets


def _paired(old: Mapping[str, V], new: Mapping[str, V]) -> Iterator[tuple[str, V | None, V | None]]:
    for name in sorted({*old, *new}):
        yield name, old.get(name), new.get(name)


def _unlike(before: object, after: object, names: Iterable[str]) -> tuple[str, ...]:
    return tuple(name for name in names if getattr(before, name) != getattr(after, name))


def _tool_words(each: ToolDifference) -> Iterator[str]:
    yield f"tool {plainly(each.tool)} {each.how.value}"
    if each.before is not None and each.after is not None:
        changes = diff(each.before, each.after)
        yield from (f"  {sentence(change)}" for change in changes[:MOST_CHANGES])
        if len(changes) > MOST_CHANGES:
            yield f"  and {len(changes) - MOST_CHANGES:,} more"


def _part_words(what: str, each: PartDifference) -> Iterator[str]:
    settings = f": {', '.join(map(plainly, each.settings))}" if each.settings else ""
    yield f"{what} {plainly(each.name)} {each.how.value}{settings}"
    yield from (f"  {line}" for line in each.told)


def _file_words(files: tuple[PartDifference, ...]) -> Iterator[str]:
    """By their number: there may be thousands."""
    for how in How:
        such = [plainly(each.name) for each in files if each.how is how]
        if such:
            more = f" and {len(such) - 3:,} more" if len(such) > 3 else ""
            yield f"{len(such):,} file{'' if len(such) == 1 else 's'} {how.value}: {', '.join(such[:3])}{more}"
