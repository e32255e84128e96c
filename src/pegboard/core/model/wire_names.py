"""Wire names: legal, unique, stable; they never move from one tool to another."""

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain, count
from typing import Final

from pegboard.core.model.ids import BuiltinKey, ServerKey, SourceKey, ToolId, WireName

# Tools that people approved, as the store tells: known by name and definition, whether they are listed or not.


@dataclass(frozen=True)
class ApprovedTools:
    ids: tuple[ToolId, ...] = ()

    @cached_property
    def names(self) -> Mapping[WireName, ToolId]:
        """Own names that one of them alone has: each is its tool's, from the start and whatever else is listed."""
        owners: dict[WireName, ToolId | None] = {}
        for id in self.ids:
            name = WireName(id.name)
            owners[name] = None if name in owners else id
        return {name: id for name, id in owners.items() if id is not None}

    @cached_property
    def by_source(self) -> Mapping[SourceKey, tuple[ToolId, ...]]:
        """In one order, whatever order the store keeps them in."""
        found: dict[SourceKey, list[ToolId]] = {}
        for id in self.ids:
            found.setdefault(id.source, []).append(id)
        return {source: tuple(sorted(ids)) for source, ids in found.items()}


NO_APPROVED_TOOLS: Final = ApprovedTools()


MAX_NAME_CHARS: Final = 64
_LEGAL: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_ILLEGAL: Final = re.compile(r"[^A-Za-z0-9_-]")
_HASHED_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,53}_[0-9a-f]{10}")


RESERVED_NAMES: Final = frozenset({"pegboard_ticket", "python_execution"})
"""Names of the gateway's own tools, whether they are listed or not: no server's tool gets one, and whoever calls one
means the gateway's own."""


def _own_name(id: ToolId) -> str:
    return id.name


def _with_toolset(id: ToolId) -> str:
    return f"{id.toolset}__{_ILLEGAL.sub('_', id.name)}"


def _with_server(id: ToolId) -> str:
    key = id.source
    own = _ILLEGAL.sub("_", id.name)
    return f"{key.toolset}__{key.server}__{own}" if isinstance(key, ServerKey) else _with_toolset(id)


def hashed_name(id: ToolId, attempt: int = 0) -> str:
    """Always legal: the id's own hash closes it. Attempts, because a server can work it out too and take the name."""
    text = f"{id}#{attempt}" if attempt else str(id)
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:10]
    return f"{_with_server(id)[: MAX_NAME_CHARS - 11]}_{digest}"


_LEVELS: Final[tuple[Callable[[ToolId], str], ...]] = (_own_name, _with_toolset, _with_server)


def long_names(id: ToolId) -> tuple[str, ...]:
    """The forms longer than its own name under which a client may see a tool, but for the hashed one."""
    return tuple(dict.fromkeys((_with_toolset(id), _with_server(id))))


def is_hashed(name: str) -> bool:
    """Whether a name has the form of a hashed one. Hashing every tool to find out would be costly."""
    return _HASHED_NAME.fullmatch(name) is not None


def is_legal(name: str) -> bool:
    """Whether every client and model takes it as the name of a tool."""
    return _LEGAL.fullmatch(name) is not None


def assign_wire_names(
    tools: Iterable[ToolId],
    held: Mapping[WireName, ToolId],
    legal: Callable[[str], bool] = is_legal,
    *,
    locked: Collection[ToolId] = frozenset(),
    vouched: ApprovedTools = NO_APPROVED_TOOLS,
) -> Mapping[ToolId, WireName]:
    """The shortest form that is legal and meant by one tool only. Independent of the order of the tools.

    Those among them that are `locked` are named after all others, from what is left: what nobody has admitted renames
    nothing. `held` are the names that tools had before: none is given to another tool, and no name of a `vouched` one.
    """
    order = tuple(tools)
    naming = _NameAssignment(held, vouched, legal)
    naming.assign([id for id in order if id not in locked] if locked else order)
    if locked:
        naming.assign([id for id in order if id in locked], order)
    return {id: naming.names[id] for id in order}


class _NameAssignment:
    """Names given so far, and those that nobody can have any more."""

    def __init__(self, held: Mapping[WireName, ToolId], vouched: ApprovedTools, legal: Callable[[str], bool]) -> None:
        self.names: dict[ToolId, WireName] = {}
        self._reserved = held
        self._approved_tools = vouched
        self._legal = legal
        self._unavailable: set[str] = set()

    def assign(self, tools: Sequence[ToolId], among: Sequence[ToolId] | None = None) -> None:
        """For every tool that is `among`, its longer forms are its own before they are the own name of another."""
        given, taken, held, own = self.names, self._unavailable, self._reserved, self._approved_tools.names
        legal = self._legal
        foreign = _foreign_longer_names(tools, tools if among is None else among, self._approved_tools)
        barred = [id for id in tools if id.name in RESERVED_NAMES]
        given.update((id, WireName(id.name)) for id in barred if isinstance(id.source, BuiltinKey))
        waiting: Sequence[ToolId] = [id for id in tools if id.name not in RESERVED_NAMES] if barred else tools
        for form in _LEVELS:
            rest = [id for id in barred if id not in given] if form is _own_name else []
            wanted = [(id, WireName(form(id))) for id in waiting]
            if own or foreign:
                every, wanted = wanted, []
                for id, name in every:
                    owner, namespace = own.get(name), foreign.get(name)
                    # What belongs to another is not wanted: its owner gives way to nobody, but to the namespace that
                    # the name is out of.
                    if (owner is None or owner is id or owner == id) if namespace is None else id in namespace:
                        wanted.append((id, name))
                    else:
                        rest.append(id)
            counts = Counter([name for _, name in wanted])
            for id, name in wanted:
                owner = held.get(name)
                if (
                    counts[name] == 1
                    and name not in taken
                    and (owner is None or owner is id or owner == id)
                    and legal(name)
                ):
                    given[id] = name
                else:
                    rest.append(id)
            # A name that several wanted stays nobody's, so that adding one tool never hands its name to another.
            taken.update(counts)
            waiting = rest
        for id in sorted(waiting):
            free = (WireName(name) for name in map(partial(hashed_name, id), count()) if name not in taken)
            given[id] = next(name for name in free if _may_have(held.get(name), id) and _may_have(own.get(name), id))
            taken.add(given[id])


def _may_have(owner: ToolId | None, id: ToolId) -> bool:
    """Whether a name that belongs to this owner, or to nobody, may be given to this tool."""
    return owner is None or owner is id or owner == id


def _foreign_longer_names(
    tools: Sequence[ToolId], among: Sequence[ToolId], vouched: ApprovedTools
) -> Mapping[str, set[ToolId]]:
    """Whose longer form each own name is that looks like one: no server may take a name out of another's namespace."""
    looks_long = {id.name for id in tools if "__" in id.name}
    looks_hashed = {id.name for id in tools if is_hashed(id.name)}
    owners: dict[str, set[ToolId]] = {}
    for id in chain(among, vouched.ids) if looks_long or looks_hashed else ():
        forms = [*long_names(id), *([hashed_name(id)] if looks_hashed else [])]
        for name in forms:
            if name in looks_long or name in looks_hashed:
                owners.setdefault(name, set()).add(id)
    return owners
