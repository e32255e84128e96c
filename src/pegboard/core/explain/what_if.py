"""The difference between two policies for a caller, and between two settings files in words."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from pegboard.core.decision.resolve import HiddenTool, LockedTool, Verdict, resolve
from pegboard.core.decision.rules import owner_is_known
from pegboard.core.model.catalogue import Catalogue
from pegboard.core.model.databases import DatabaseSettings
from pegboard.core.model.ids import ProviderKey, ToolId
from pegboard.core.model.principals import Principal
from pegboard.core.model.selection import View
from pegboard.core.model.server import Server
from pegboard.core.model.toolset import Toolset
from pegboard.core.overrides.model import Override
from pegboard.core.policy.policy import DeclaredSettings, Policy

# What would change for a caller if another policy held: which tools open, lock, appear or vanish, and why.


@dataclass(frozen=True)
class VerdictChange:
    """One tool whose verdict would be another."""

    tool: ToolId
    before: Verdict
    after: Verdict

    @property
    def is_relevant(self) -> bool:
        """Another line of another file for the same verdict is no change to anybody."""
        return _verdict_key(self.before) != _verdict_key(self.after)


def _verdict_key(verdict: Verdict) -> tuple[object, ...]:
    match verdict:
        case LockedTool():
            return LockedTool, verdict.status
        case HiddenTool(_, removed):
            return HiddenTool, type(removed)
        case _:
            return (type(verdict),)


@dataclass(frozen=True)
class WhatIf:
    changes: tuple[VerdictChange, ...]
    removed_servers: tuple[ProviderKey, ...]
    """Servers that the other policy does not name: their tools would leave the board."""
    new_servers: tuple[ProviderKey, ...]
    """Servers that only the other policy names: their tools are known once they run."""


def what_if(catalogue: Catalogue, before: Policy, after: Policy, view: View) -> WhatIf:
    """Both answers come from `resolve`, over the same catalogue. A tool that lost its server is told by its server."""
    now, then = resolve(catalogue, before, view), resolve(catalogue, after, view)
    shifts = tuple(
        VerdictChange(id, now.verdicts[id], then.verdicts[id])
        for id, tool in catalogue.tools.items()
        if now.verdicts[id] != then.verdicts[id] and owner_is_known(tool, catalogue.health(id.source), after) is None
    )
    return WhatIf(
        shifts,
        removed_servers=tuple(key for key in before.servers if key not in after.servers),
        new_servers=tuple(key for key in after.servers if key not in before.servers),
    )


MAX_CHANGES: Final = 20
"""Lines. A file that was rewritten from end to end is told by its first ones and a count."""

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

_SERVER_PARTS: Final[Mapping[str, Callable[[Server], object]]] = {
    "connection": lambda server: server.connection,
    "enabled": lambda server: server.enabled,
    "trust": lambda server: server.trust,
    "tools": lambda server: (type(server.limit), getattr(server.limit, "names", ())),
    "timeouts": lambda server: server.timeouts,
    "start": lambda server: server.starts,
    "protocol": lambda server: server.protocol,
}
_TOOLSET_PARTS: Final[Mapping[str, Callable[[Toolset], object]]] = {
    "name": lambda toolset: toolset.name,
    "description": lambda toolset: toolset.description,
    "version": lambda toolset: toolset.version,
    "enabled": lambda toolset: toolset.enabled,
}
_DATABASE_PARTS: Final[Mapping[str, Callable[[DatabaseSettings], object]]] = {
    "url": lambda database: database.url,
    "enabled": lambda database: database.enabled,
    "description": lambda database: database.description,
    "allow": lambda database: database.access.allow,
    "deny": lambda database: database.access.deny,
    "limits": lambda database: database.limits,
    "samples": lambda database: database.samples,
    "writes": lambda database: database.writes,
    "force": lambda database: database.force,
}
_PRINCIPAL_PARTS: Final[Mapping[str, Callable[[Principal], object]]] = {
    "token": lambda principal: principal.hashes,
    "databases": lambda principal: principal.databases,
    "scopes": lambda principal: principal.scopes,
    "confirmation": lambda principal: principal.confirmation,
}


def describe_settings_changes(before: DeclaredSettings, after: DeclaredSettings) -> tuple[str, ...]:
    """A line that only moved within the file changes nothing, and is not told."""
    told = [*_all_changes(before, after)]
    return (*told[:MAX_CHANGES], f"and {len(told) - MAX_CHANGES} more") if len(told) > MAX_CHANGES else tuple(told)


def _all_changes(before: DeclaredSettings, after: DeclaredSettings) -> Iterator[str]:
    yield from _describe_changes("server", before.servers, after.servers, _SERVER_PARTS)
    own = {id: toolset for id, toolset in after.toolsets.items() if not toolset.user_mcp}
    former = {id: toolset for id, toolset in before.toolsets.items() if not toolset.user_mcp}
    yield from _describe_changes("toolset", former, own, _TOOLSET_PARTS)
    if before.selection != after.selection:
        yield "selection changed"
    denied, once = ([str(one.pattern) for one in file.denials] for file in (after, before))
    yield from (f"deny {one} added" for one in denied if one not in once)
    yield from (f"deny {one} removed" for one in once if one not in denied)
    yield from _override_changes(before.overrides, after.overrides)
    showing, showed = after.presentation, before.presentation
    if showing.threshold != showed.threshold:
        yield "presentation_threshold changed"
    if showing.max_materialized != showed.max_materialized:
        yield "materialised_tools changed"
    if [one.text for one in showing.always_visible] != [one.text for one in showed.always_visible]:
        yield "always_visible changed"
    if after.code != before.code:
        yield "code changed"
    if after.confirmation != before.confirmation:
        yield "confirmation changed"
    yield from _describe_changes("grant to", before.grants, after.grants, {"toolsets": lambda granted: granted})
    yield from _describe_changes("principal", before.principals, after.principals, _PRINCIPAL_PARTS)
    yield from _describe_changes("database", before.databases, after.databases, _DATABASE_PARTS)


def _describe_changes(
    what: str, before: Mapping[K, V], after: Mapping[K, V], parts: Mapping[str, Callable[[V], object]]
) -> Iterator[str]:
    yield from (f"{what} {key} added" for key in _changed_keys(after, before))
    yield from (f"{what} {key} removed" for key in _changed_keys(before, after))
    for key in sorted(before.keys() & after.keys(), key=str):
        changed = [name for name, part in parts.items() if part(before[key]) != part(after[key])]
        if changed:
            yield f"{what} {key}: {', '.join(changed)} changed"


def _override_changes(before: Iterable[Override], after: Iterable[Override]) -> Iterator[str]:
    former = {(row.toolset, str(row.target)): row for row in before}
    latter = {(row.toolset, str(row.target)): row for row in after}
    yield from (f"override of {target} in {toolset} added" for toolset, target in _changed_keys(latter, former))
    yield from (f"override of {target} in {toolset} removed" for toolset, target in _changed_keys(former, latter))
    for place in sorted(former.keys() & latter.keys()):
        # Where it is written is no part of what it says: another line of the file is no change to anybody.
        if replace(former[place], origins={}) != replace(latter[place], origins={}):
            yield f"override of {place[1]} in {place[0]} changed"


def _changed_keys(one: Mapping[K, V], other: Mapping[K, V]) -> list[K]:
    return sorted((key for key in one if key not in other), key=str)
