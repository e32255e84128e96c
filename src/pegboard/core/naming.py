"""Wire names: what a client or model sees. Legal, unique, stable, and never moved from one tool to another unsaid."""

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import count
from typing import Final

from .ids import ServerKey, ToolId, WireName

MAX_LENGTH: Final = 64
_LEGAL: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_ILLEGAL: Final = re.compile(r"[^A-Za-z0-9_-]")
_HASHED: Final = re.compile(r"[A-Za-z0-9_-]{1,53}_[0-9a-f]{10}")


RESERVED: Final = frozenset({"pegboard_ticket"})
"""Names of the gateway's own tools: no server's tool gets one."""


def _own(id: ToolId) -> str:
    return id.name


def _with_toolset(id: ToolId) -> str:
    return f"{id.toolset}__{_ILLEGAL.sub('_', id.name)}"


def _with_server(id: ToolId) -> str:
    key = id.source
    own = _ILLEGAL.sub("_", id.name)
    return f"{key.toolset}__{key.server}__{own}" if isinstance(key, ServerKey) else _with_toolset(id)


def _hashed(id: ToolId, attempt: int = 0) -> str:
    """Always legal: the id's own hash closes it. Attempts, because a server can work it out too and take the name."""
    text = f"{id}#{attempt}" if attempt else str(id)
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:10]
    return f"{_with_server(id)[: MAX_LENGTH - 11]}_{digest}"


_LEVELS: Final[tuple[Callable[[ToolId], str], ...]] = (_own, _with_toolset, _with_server)


def long_names(id: ToolId) -> tuple[str, ...]:
    """The forms longer than its own name under which a client may see a tool, but for the hashed one."""
    return tuple(dict.fromkeys((_with_toolset(id), _with_server(id))))


def hashed_name(id: ToolId) -> str:
    return _hashed(id)


def is_hashed(name: str) -> bool:
    """Whether a name has the form of a hashed one. Hashing every tool to find out would be costly."""
    return _HASHED.fullmatch(name) is not None


def is_legal(name: str) -> bool:
    """Whether every client and model takes it as the name of a tool."""
    return _LEGAL.fullmatch(name) is not None


def wire_names(
    tools: Iterable[ToolId],
    held: Mapping[WireName, ToolId],
    legal: Callable[[str], bool] = is_legal,
    *,
    locked: Collection[ToolId] = frozenset(),
) -> Mapping[ToolId, WireName]:
    """The shortest form that is legal and meant by one tool only. Independent of the order of the tools.

    Those among them that are `locked` are named after all others, from what is left: what nobody has admitted renames
    nothing. `held` are the names that tools had before: none is given to another tool.
    """
    order = tuple(tools)
    naming = _Naming(held, legal)
    naming.give([id for id in order if id not in locked] if locked else order)
    if locked:
        naming.give([id for id in order if id in locked], order)
    return {id: naming.given[id] for id in order}


class _Naming:
    """Names given so far, and those that nobody can have any more."""

    def __init__(self, held: Mapping[WireName, ToolId], legal: Callable[[str], bool]) -> None:
        self.given: dict[ToolId, WireName] = {}
        self._held = held
        self._legal = legal
        self._taken: set[str] = set()

    def give(self, tools: Sequence[ToolId], among: Sequence[ToolId] | None = None) -> None:
        """One of its longer forms is a tool's own before it is another's own name, for every tool that is `among`."""
        waiting = tools
        given, taken, held, legal = self.given, self._taken, self._held, self._legal
        foreign = _foreign(tools, tools if among is None else among)
        for form in _LEVELS:
            wanted = [(id, form(id)) for id in waiting]
            counts = Counter(name for id, name in wanted if id in foreign.get(name, (id,)))
            rest: list[ToolId] = []
            for id, name in wanted:
                owner = held.get(WireName(name), id)
                mine = id in foreign.get(name, (id,))
                if (
                    mine
                    and counts[name] == 1
                    and name not in taken
                    and owner == id
                    and legal(name)
                    and name not in RESERVED
                ):
                    given[id] = WireName(name)
                else:
                    rest.append(id)
            # A name that several wanted stays nobody's, so that adding one tool never hands its name to another.
            taken.update(counts)
            waiting = rest
        for id in sorted(waiting):
            forms = (_hashed(id, attempt) for attempt in count())
            name = next(n for n in forms if n not in taken and held.get(WireName(n), id) == id)
            taken.add(name)
            given[id] = WireName(name)


def _foreign(tools: Sequence[ToolId], among: Sequence[ToolId]) -> Mapping[str, set[ToolId]]:
    """Whose longer form each own name is that looks like one: no server may take a name out of another's namespace."""
    looks_long = {id.name for id in tools if "__" in id.name}
    looks_hashed = {id.name for id in tools if is_hashed(id.name)}
    owners: dict[str, set[ToolId]] = {}
    for id in among if looks_long or looks_hashed else ():
        forms = [*long_names(id), *([hashed_name(id)] if looks_hashed else [])]
        for name in forms:
            if name in looks_long or name in looks_hashed:
                owners.setdefault(name, set()).add(id)
    return owners
