"""Servers that have not listed their tools yet, and names that may be theirs."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from pegboard.core.decision.facts import servers_under_review
from pegboard.core.decision.resolve import LockedTool, OpenTool, build_directory, judge_tool
from pegboard.core.decision.rules import RULES, SOURCE_RULES, is_approved
from pegboard.core.decision.status import ChangedSinceApproval, NoToolListYet
from pegboard.core.model.catalogue import (
    Catalogue,
    Listing,
    ProviderDown,
    ProviderNeedsSignIn,
    ProviderOff,
    ProviderStart,
    is_listing_known,
)
from pegboard.core.model.ids import BuiltinKey, ProviderKey, ServerKey, SourceKey, ToolId, parse_tool_id
from pegboard.core.model.patterns import find_launch_block
from pegboard.core.model.references import ToolDirectory
from pegboard.core.model.selection import View, select_tools
from pegboard.core.model.text import quote_name, shell_word
from pegboard.core.model.tool import Fingerprint, Tool, ToolSpec
from pegboard.core.model.wire_names import MAX_NAME_CHARS, RESERVED_NAMES, is_hashed, is_legal
from pegboard.core.policy.policy import Policy

_MAX_NAMED: Final = 5
_ANY_NAME: Final = "*"
_SOURCE_RULES: Final = tuple(rule for rule in RULES if rule in SOURCE_RULES)


def possible_owners(name: str, catalogue: Catalogue, policy: Policy, view: View) -> Mapping[ProviderKey, ToolId]:
    """The servers without a list that may have what this caller means by a name nobody has, and as which tool.

    A name out of the namespace of a toolset or server can be of no other. Of what the caller has no view of nothing is
    told: the tool that it would be is judged by the same selection, grants and narrowings as one that is there.
    """
    silent = [
        source
        for source, word in catalogue.listings.items()
        if not isinstance(source, BuiltinKey)
        and (word.is_remembered or not word.tools)
        and isinstance(word.health, ProviderStart | ProviderDown | ProviderNeedsSignIn)
    ]
    return _possible_tools(name, silent, catalogue, policy, view)


def describe_stopped_owners(name: str, catalogue: Catalogue, policy: Policy, view: View) -> str:
    """The same of servers that do not run because a person has not let them, and of which nothing is known: a sentence
    that names them, or nothing."""
    off = [
        source
        for source, word in catalogue.listings.items()
        if not isinstance(source, BuiltinKey) and not word.tools and isinstance(word.health, ProviderOff)
    ]
    keys = [*_possible_tools(name, off, catalogue, policy, view)]
    if not keys:
        return ""
    unreviewed = {reason.server for reason in servers_under_review(policy)}
    states = {"in quarantine" if key in unreviewed else "off": None for key in keys}
    named = ", ".join(map(str, keys[:_MAX_NAMED])) + (" or another server" if len(keys) > _MAX_NAMED else "")
    return f"It may be a tool of {named}, which {'is' if len(keys) == 1 else 'are'} {' or '.join(states)}."


def sources_without_list(catalogue: Catalogue, policy: Policy) -> Iterator[tuple[SourceKey, OpenTool | LockedTool]]:
    """Every source of which nobody knows what it has, with what would be said of each of its tools."""
    for source, word in catalogue.listings.items():
        if not is_listing_known(word):
            any_of_it = Tool(ToolId(source, _ANY_NAME), ToolSpec(_ANY_NAME))
            yield source, judge_tool(any_of_it, word.effective_health, policy, _SOURCE_RULES)


def _possible_tools(
    name: str, silent: list[ProviderKey], catalogue: Catalogue, policy: Policy, view: View
) -> Mapping[ProviderKey, ToolId]:
    if not silent:
        return {}
    everyone = build_directory(catalogue, policy)
    found: dict[ProviderKey, ToolId] = {}
    for key in _owners(name, silent, everyone):
        seen = (id for id in _possible_ids(name, key) if _is_in_view(id, everyone, policy, view))
        if (id := next(seen, None)) is not None:
            found[key] = id
    return found


def servers_starting(owners: Mapping[ProviderKey, ToolId], catalogue: Catalogue) -> tuple[ProviderKey, ...]:
    """Those that start for the first time, so that to wait for them is worth it: a second attempt failed once."""
    health = {key: catalogue.health(key) for key in owners}
    return tuple(key for key, now in health.items() if isinstance(now, ProviderStart) and now.attempt <= 1)


def why_unlisted(owners: Mapping[ProviderKey, ToolId], catalogue: Catalogue, *, near: bool) -> NoToolListYet | None:
    """What to tell of them. With a `near` name that is there, only of those that may list it at any moment."""
    health = {key: catalogue.health(key) for key in owners}
    for kind in (ProviderStart,) if near else (ProviderStart, ProviderNeedsSignIn, ProviderDown):
        such = [(key, now) for key, now in health.items() if isinstance(now, kind)]
        if such and isinstance(first := such[0][1], ProviderStart | ProviderDown | ProviderNeedsSignIn):
            return NoToolListYet(tuple(key for key, _ in such), first)
    return None


def _owners(name: str, silent: list[ProviderKey], everyone: ToolDirectory) -> list[ProviderKey]:
    if ":" in name:
        id = parse_tool_id(name)
        return [key for key in silent if isinstance(id, ToolId) and id.source == key]
    if not is_legal(name) or name in RESERVED_NAMES:
        return []
    toolsets = {toolset for toolset in everyone.toolsets if name.startswith(f"{toolset}__")}
    servers = {key for key in everyone.servers if name.startswith(_prefix(key))}
    within = [key for key in silent if not toolsets or key.toolset in toolsets or _is_cut(name, key)]
    return [key for key in within if not servers or key in servers]


def _possible_ids(name: str, key: ProviderKey) -> Iterator[ToolId]:
    if ":" in name:
        id = parse_tool_id(name)
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
    return is_hashed(name) and name[: MAX_NAME_CHARS - 11].startswith(_prefix(key)[: MAX_NAME_CHARS - 11])


def _is_in_view(id: ToolId, everyone: ToolDirectory, policy: Policy, view: View) -> bool:
    alone = replace(everyone, ids=(id,))
    granted = policy.granted_toolsets(view.principal)
    return (
        id in select_tools(policy.declared.selection, alone).tools
        and (granted is None or id.toolset in granted)
        and all(id in select_tools(narrowing, alone).tools for narrowing in view.narrowings)
        and find_launch_block(view.filters, id) is None
    )


# What a server's new list locks: tools that it added, or that are not any more what was approved.

MAX_NAMED: Final = 20
_FINGERPRINT_CHARS: Final = 12


@dataclass(frozen=True)
class NewlyLockedTool:
    """One tool that waits for a person because of its server. `before` is what was approved, if anything was."""

    tool: Tool
    before: Fingerprint | None


def newly_locked_tools(former: Listing | None, latest: Listing, policy: Policy) -> tuple[NewlyLockedTool, ...]:
    """Of what is new or other in the latest list. What it had before, exactly so, was told before."""
    known = {} if former is None else {tool.id: tool for tool in former.tools}
    return tuple(_find_newly_locked(known, latest, policy))


def _find_newly_locked(known: dict[ToolId, Tool], latest: Listing, policy: Policy) -> Iterator[NewlyLockedTool]:
    for tool in latest.tools:
        old = known.get(tool.id)
        if old is tool or (old is not None and old.spec.fingerprint == tool.spec.fingerprint):
            continue
        match is_approved(tool, None, policy):
            case None:
                pass
            case ChangedSinceApproval(_, approved):
                yield NewlyLockedTool(tool, approved.fingerprint)
            case _:
                yield NewlyLockedTool(tool, None)


def describe_for_activity(found: tuple[NewlyLockedTool, ...]) -> str:
    """For the activity: each by its name and fingerprints."""
    named = [_describe_one(each) for each in found[:MAX_NAMED]]
    more = f" and {len(found) - MAX_NAMED:,} more" if len(found) > MAX_NAMED else ""
    return f"locked until a person approves: {', '.join(named)}{more}"


def log_line(latest: Listing, found: tuple[NewlyLockedTool, ...]) -> str:
    """For the log: what to do, too."""
    if len(found) > 1:
        what = f"{latest.source} changed or added {len(found):,} tools; they are locked until you approve them"
        return f"{what}: pegboard approvals show --server {latest.source}"
    (one,) = found
    how = "added" if one.before is None else "changed"
    word = shell_word(str(one.tool.id))
    see = f"pegboard approvals list --server {latest.source}" if word is None else f"pegboard approvals show {word}"
    return f"{latest.source} {how} {quote_name(one.tool.id.name)}; it is locked until you approve it: {see}"


def _describe_one(each: NewlyLockedTool) -> str:
    now, name = each.tool.spec.fingerprint[:_FINGERPRINT_CHARS], quote_name(each.tool.id.name)
    return (
        f"{name} is new ({now})"
        if each.before is None
        else f"{name} changed ({each.before[:_FINGERPRINT_CHARS]} → {now})"
    )
