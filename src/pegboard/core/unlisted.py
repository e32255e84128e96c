"""Servers that have not listed their tools yet, and which names may turn out to be theirs."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from .catalogue import Catalogue, Down, NeedsSignIn, Off, Starting, is_known
from .ids import BuiltinKey, ProviderKey, ServerKey, Source, ToolId, tool_id
from .launch import barring
from .naming import MAX_LENGTH, RESERVED, is_hashed, is_legal
from .policy import Policy
from .reference import Directory
from .resolve import Locked, Open, directory, verdict_on
from .rules import RULES, SOURCE_RULES, under_review
from .selection import select
from .status import Unlisted
from .tool import Tool, ToolSpec
from .view import View

_NAMED: Final = 5
_ANY: Final = "*"
_OF_SOURCES: Final = tuple(rule for rule in RULES if rule in SOURCE_RULES)


def may_have(name: str, catalogue: Catalogue, policy: Policy, view: View) -> Mapping[ProviderKey, ToolId]:
    """The servers without a list that may have what this caller means by a name nobody has, and as which tool.

    A name out of the namespace of a toolset or server can be of no other. Of what the caller has no view of nothing is
    told: the tool that it would be is judged by the same selection, grants and narrowings as one that is there.
    """
    silent = [
        source
        for source, word in catalogue.listings.items()
        if not isinstance(source, BuiltinKey)
        and (word.remembered or not word.tools)
        and isinstance(word.health, Starting | Down | NeedsSignIn)
    ]
    return _possible(name, silent, catalogue, policy, view)


def kept_off(name: str, catalogue: Catalogue, policy: Policy, view: View) -> str:
    """The same of servers that do not run because a person has not let them, and of which nothing is known: a sentence
    that names them, or nothing."""
    off = [
        source
        for source, word in catalogue.listings.items()
        if not isinstance(source, BuiltinKey) and not word.tools and isinstance(word.health, Off)
    ]
    keys = [*_possible(name, off, catalogue, policy, view)]
    if not keys:
        return ""
    unreviewed = {reason.server for reason in under_review(policy)}
    states = {"in quarantine" if key in unreviewed else "off": None for key in keys}
    named = ", ".join(map(str, keys[:_NAMED])) + (" or another server" if len(keys) > _NAMED else "")
    return f"It may be a tool of {named}, which {'is' if len(keys) == 1 else 'are'} {' or '.join(states)}."


def unheard(catalogue: Catalogue, policy: Policy) -> Iterator[tuple[Source, Open | Locked]]:
    """Every source of which nobody knows what it has, with what would be said of each of its tools."""
    for source, word in catalogue.listings.items():
        if not is_known(word):
            any_of_it = Tool(ToolId(source, _ANY), ToolSpec(_ANY))
            yield source, verdict_on(any_of_it, word.reach, policy, _OF_SOURCES)


def _possible(
    name: str, silent: list[ProviderKey], catalogue: Catalogue, policy: Policy, view: View
) -> Mapping[ProviderKey, ToolId]:
    if not silent:
        return {}
    everyone = directory(catalogue, policy)
    found: dict[ProviderKey, ToolId] = {}
    for key in _owners(name, silent, everyone):
        seen = (id for id in _meant(name, key) if _reaches(id, everyone, policy, view))
        if (id := next(seen, None)) is not None:
            found[key] = id
    return found


def starting(owners: Mapping[ProviderKey, ToolId], catalogue: Catalogue) -> tuple[ProviderKey, ...]:
    """Those that start for the first time, so that to wait for them is worth it: a second attempt failed once."""
    health = {key: catalogue.health(key) for key in owners}
    return tuple(key for key, now in health.items() if isinstance(now, Starting) and now.attempt <= 1)


def why_unlisted(owners: Mapping[ProviderKey, ToolId], catalogue: Catalogue, *, near: bool) -> Unlisted | None:
    """What to tell of them. With a `near` name that is there, only of those that may list it at any moment."""
    health = {key: catalogue.health(key) for key in owners}
    for kind in (Starting,) if near else (Starting, NeedsSignIn, Down):
        such = [(key, now) for key, now in health.items() if isinstance(now, kind)]
        if such and isinstance(first := such[0][1], Starting | Down | NeedsSignIn):
            return Unlisted(tuple(key for key, _ in such), first)
    return None


def _owners(name: str, silent: list[ProviderKey], everyone: Directory) -> list[ProviderKey]:
    if ":" in name:
        id = tool_id(name)
        return [key for key in silent if isinstance(id, ToolId) and id.source == key]
    if not is_legal(name) or name in RESERVED:
        return []
    toolsets = {toolset for toolset in everyone.toolsets if name.startswith(f"{toolset}__")}
    servers = {key for key in everyone.servers if name.startswith(_prefix(key))}
    within = [key for key in silent if not toolsets or key.toolset in toolsets or _is_cut(name, key)]
    return [key for key in within if not servers or key in servers]


def _meant(name: str, key: ProviderKey) -> Iterator[ToolId]:
    if ":" in name:
        id = tool_id(name)
        assert isinstance(id, ToolId)
        yield id
        return
    for prefix in dict.fromkeys((_prefix(key), f"{key.toolset}__")):
        if name.startswith(prefix) and len(name) > len(prefix):
            yield ToolId(key, name.removeprefix(prefix))
    yield ToolId(key, name)


def _prefix(key: ProviderKey) -> str:
    return f"{key.toolset}__{key.server}__" if isinstance(key, ServerKey) else f"{key.toolset}__"


def _is_cut(name: str, key: ProviderKey) -> bool:
    """Whether this may be a hashed name, in which a long id of toolset and server is cut short."""
    return is_hashed(name) and name[: MAX_LENGTH - 11].startswith(_prefix(key)[: MAX_LENGTH - 11])


def _reaches(id: ToolId, everyone: Directory, policy: Policy, view: View) -> bool:
    alone = replace(everyone, ids=(id,))
    granted = policy.granted(view.principal)
    return (
        id in select(policy.declared.selection, alone).tools
        and (granted is None or id.toolset in granted)
        and all(id in select(narrowing, alone).tools for narrowing in view.narrowings)
        and barring(view.filters, id) is None
    )
