"""Names in settings that no tool has, and which tools a misspelled denial may mean (ADR 16)."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import zip_longest
from typing import Final

from pegboard.core.decision.facts import find_owner_off, find_quarantine
from pegboard.core.decision.rules import entry_matches
from pegboard.core.model.catalogue import Catalogue, has_listed, is_listing_known
from pegboard.core.model.ids import (
    BuiltinKey,
    LegacyToolId,
    ProviderKey,
    ServerKey,
    SourceKey,
    ToolId,
    ToolsetId,
    ToolsetKey,
)
from pegboard.core.model.patterns import LAUNCH_KINDS, LaunchFilter, Pattern, is_pattern
from pegboard.core.model.references import (
    MAX_EDITS,
    NameReference,
    Reference,
    ReferenceKind,
    ServerReference,
    ToolDirectory,
    ToolsetReference,
    UnknownReference,
    closest_names,
    edit_distances,
    find_tools,
    find_toolset,
    fold_name,
    parse_reference,
)
from pegboard.core.model.selection import Selection, TheseToolsets
from pegboard.core.model.server import AllButTools, EveryTool, InstalledBy, OnlyTools, Origin, Server, Trust
from pegboard.core.model.settings import BUILTINS
from pegboard.core.model.text import quote_name
from pegboard.core.model.wire_names import long_names
from pegboard.core.overrides.model import Override
from pegboard.core.policy.policy import TOOLSETS_SETTING, ExactDenial, Policy, tool_filter_setting

# What a launch filter names in vain: a word without a wildcard that fits nothing is most often misspelt.


@dataclass(frozen=True, slots=True)
class UnmatchedLaunchEntry:
    member: str
    """`allow_tools` and its like."""
    text: str
    suggestions: tuple[str, ...]

    def __str__(self) -> str:
        hint = f" Did you mean {' or '.join(map(repr, self.suggestions))}?" if self.suggestions else ""
        return f"{self.text!r} under {self.member} fits nothing on the board.{hint}"


def unmatched_launch_entries(
    launch: LaunchFilter, catalogue: Catalogue, policy: Policy
) -> Iterator[UnmatchedLaunchEntry]:
    """In the order in which it is written. A tool counts as missing once all that may have it have told theirs."""
    sources = {*catalogue.listings, *policy.servers}
    for kind in LAUNCH_KINDS:
        allowance = {"builtins": launch.builtins, "servers": launch.servers, "tools": launch.tools}[kind]
        for way, patterns in (("allow", allowance.allow or ()), ("deny", allowance.deny)):
            for each in patterns:
                told = _explain_unmatched(kind, each, sources, catalogue)
                if told is not None:
                    yield UnmatchedLaunchEntry(f"{way}_{kind}", told[0], closest_names(*told))


def _explain_unmatched(
    kind: str, pattern: Pattern, sources: Collection[SourceKey], catalogue: Catalogue
) -> tuple[str, set[str]] | None:
    """What was written, and what may have been meant; `None` where it is not in vain."""
    if kind == "builtins":
        return None if is_pattern(pattern.name) or pattern.name in BUILTINS else (pattern.name, {*BUILTINS})
    scopes = {name for source in sources for name in _names(source)}
    if not is_pattern(pattern.scope) and pattern.scope not in scopes:
        return (pattern.scope if kind == "servers" else str(pattern)), scopes
    if kind == "servers" or is_pattern(pattern.name):
        return None
    listings = [word for source, word in catalogue.listings.items() if pattern.matches_source(source)]
    names = {tool.id.name for word in listings for tool in word.tools}
    silent = any(not is_listing_known(word) for word in listings)
    return None if silent or pattern.name in names else (pattern.name, names)


def _names(source: SourceKey) -> tuple[str, ...]:
    if isinstance(source, BuiltinKey):
        return ()
    return (source.toolset, source.server, str(source)) if isinstance(source, ServerKey) else (str(source.toolset),)


_MAX_SHOWN: Final = 3
_NAMES: Final = re.compile(r"[^\s,;]+")
_SEPARATORS: Final = str.maketrans(dict.fromkeys(":./- ~,;", "_"))

BUILTIN_IDS: Final = tuple(ToolId(BuiltinKey(), name) for name in BUILTINS)
"""Of the gateway's own tools: some can be called that are not in the catalogue."""


def with_suspects(catalogue: Catalogue, policy: Policy) -> Policy:
    """The policy with the tools that its unmatched denials may mean; the same object while they are the same.

    Worked out once for a policy and a catalogue, whoever asks."""
    if not policy.exact_denials:
        return replace(policy, suspects={}) if policy.suspects else policy
    latest = policy.suspects_cache
    if not latest or latest[0][0] is not catalogue:
        found = {id: denial for denial, near in reversed([*unmatched_denials(catalogue, policy)]) for id in near}
        latest[:] = [(catalogue, policy if found == policy.suspects else replace(policy, suspects=found))]
    return latest[0][1]


def unmatched_denials(catalogue: Catalogue, policy: Policy) -> Iterator[tuple[ExactDenial, tuple[ToolId, ...]]]:
    """Each exact denial that no reviewed tool matches, with the tools whose names are near.

    A server can list any name, so a match that no person has reviewed counts within its own server alone."""
    if not policy.exact_denials:
        return
    known = _KnownNames(catalogue, policy)
    for denial in policy.exact_denials:
        matching = known.find_matches(denial)
        if matching is None or any(map(known.is_reviewed, matching)):
            continue
        settled = {id.source for id in matching if known.is_accepted(id)}
        near = tuple(id for id in known.suggest_tools(denial) if id.source not in settled and id not in matching)
        if not matching:
            yield denial, near
        elif near:
            yield replace(denial, unreviewed_match=matching[0]), near


@dataclass(frozen=True, slots=True)
class UnknownName:
    """An entry of the settings that names a tool or toolset which does not exist."""

    setting: str
    text: str
    at: Origin | None
    kind: str = "tool"
    suggestions: tuple[str, ...] = ()
    """What may have been meant."""
    locked_tools: tuple[ToolId, ...] = ()
    """The tools that are locked because of it."""
    sources_off: tuple[SourceKey, ...] = ()
    """Servers that may have it and do not run, so that nobody knows their tools."""
    is_pattern: bool = False
    """Written with wildcards: it may be meant for tools that are still to come, so it is a warning and no error."""
    is_denial: bool = False
    unreviewed_match: ToolId | None = None
    """A tool that has the name, and does not count because no person has reviewed it."""

    def __str__(self) -> str:
        at = "" if self.at is None else f" ({self.at})"
        if self.is_pattern:
            return f"{self.setting}{at}: no tool fits {self.text!r}."
        text = f"Unknown {self.kind} {self.text!r} in {self.setting}{at}."
        if self.unreviewed_match is not None:
            text = (
                f"{self.text!r} in {self.setting}{at} is only the name of {quote_name(self.unreviewed_match)}, "
                "which nobody "
                "has reviewed."
            )
        if self.suggestions and (self.locked_tools or not self.is_denial):
            text += f" Did you mean {' or '.join(map(repr, self.suggestions))}?"
        if self.locked_tools:
            are = "is" if len(self.locked_tools) == 1 else "are"
            names = ", ".join(map(quote_name, self.locked_tools[:_MAX_SHOWN])) + (
                " …" if len(self.locked_tools) > _MAX_SHOWN else ""
            )
            done = "marked as optional" if self.unreviewed_match is None else "the tool reviewed"
            done = "removed" if self.setting == TOOLSETS_SETTING else done
            text += f" Until the entry is corrected or {done}, {names} {are} locked."
        elif self.is_denial and self.suggestions:
            are, names = "is" if len(self.suggestions) == 1 else "are", " and ".join(map(repr, self.suggestions))
            text += f" It denies nothing: {names} {are} similar, but not near enough to be locked."
        elif self.is_denial:
            text += " It denies nothing, and no tool is near enough to be locked."
        if self.sources_off:
            text += (
                " Not known, because they do not run: the tools of "
                f"{', '.join(map(str, self.sources_off[:_MAX_SHOWN]))}."
            )
        return text

    def may_mean(self, id: ToolId) -> bool:
        return id in self.locked_tools or not {id.name, str(id)}.isdisjoint(self.suggestions)

    @property
    def fix(self) -> str:
        if isinstance(self.at, InstalledBy):
            return "Install it again with the name corrected."
        place = "in pegboard.yaml" if self.at is None else f"at {self.at}"
        if self.is_pattern:
            return f"If it is not meant for tools that are still to come, correct it {place}."
        if self.unreviewed_match is not None:
            return f"Correct it {place}, or approve the tool; the entry goes on applying to it."
        if self.setting == TOOLSETS_SETTING:
            return f"Correct it {place}, or remove it."
        optional = "" if self.setting.startswith("prompts.") else ", or mark it as optional"
        return f"Correct it {place}{optional}."


def unknown_names(catalogue: Catalogue, policy: Policy) -> tuple[UnknownName, ...]:
    """Every entry that names a tool or toolset which does not exist, as far as that is known by now.

    A name is not reported while a server that may have the tool has not listed its tools, unless it locks another."""
    known = _KnownNames(catalogue, policy)
    reported: list[UnknownName] = []
    for denial, near in unmatched_denials(catalogue, policy):
        scope, _ = _parts(denial)
        waiting, off = known.sources_without_list(scope, denial.within)
        server = None if denial.unreviewed_match is None else known.server_of(denial.unreviewed_match)
        if server is not None and policy.awaits_first_sight(server) and all(id.source == server.key for id in near):
            continue  # its tools are about to be approved, which settles this
        if denial.setting == TOOLSETS_SETTING and not near:
            continue  # a toolset may be switched off before it has a server
        if not waiting or near:
            names = tuple(dict.fromkeys(_as_written(denial, id) for id in near)) or known.similar_names(denial)
            reported.append(
                UnknownName(
                    denial.setting,
                    denial.text,
                    denial.at,
                    "toolset" if denial.setting == TOOLSETS_SETTING else "tool",
                    suggestions=names[:_MAX_SHOWN],
                    locked_tools=near,
                    sources_off=off,
                    is_denial=True,
                    unreviewed_match=denial.unreviewed_match,
                )
            )
    return (*reported, *known.other_unknown_names())


class _KnownNames:
    """Every tool, server and toolset that a name can mean."""

    def __init__(self, catalogue: Catalogue, policy: Policy) -> None:
        ids = dict.fromkeys((*catalogue.tools, *BUILTIN_IDS))
        self.sources: tuple[SourceKey, ...] = (*dict.fromkeys((*catalogue.listings, *policy.servers, BuiltinKey())),)
        self.catalogue, self.policy = catalogue, policy
        self.directory = ToolDirectory(
            ids=tuple(ids),
            toolsets=frozenset({*policy.toolsets, *(source.toolset for source in self.sources)}),
            servers=frozenset(source for source in self.sources if isinstance(source, ServerKey)),
        )

    def is_reviewed(self, id: ToolId) -> bool:
        """Whether a person approved the tool as it is now, or blocked it; or it is the gateway's own.

        Neither first sight nor open trust is a review: both accept whatever name a server chooses."""
        switch, approval = self.policy.decisions.switches.get(id), self.policy.decisions.approvals.get(id)
        if isinstance(id.source, BuiltinKey) or (switch is not None and switch.blocks):
            return True
        if approval is None or approval.first_sight:
            return False
        tool = self.catalogue.tools.get(id)
        return tool is not None and approval.fingerprint == tool.spec.fingerprint

    def is_accepted(self, id: ToolId) -> bool:
        """Whether it was ever approved, at first sight or by a person, or its server is trusted openly.

        Such a server could as well have given its own tools any other names, so it gains nothing by this one."""
        server = self.server_of(id)
        return id in self.policy.decisions.approvals or (server is not None and self.policy.trust(server) is Trust.OPEN)

    def server_of(self, id: ToolId) -> Server | None:
        return None if isinstance(id.source, BuiltinKey) else self.policy.servers.get(id.source)

    def find_matches(self, denial: ExactDenial) -> tuple[ToolId, ...] | None:
        """The tools that it names; `None` if it names a server or toolset that exists, with or without tools."""
        match denial.within:
            case ServerKey() | ToolsetKey() as source:
                return tuple(
                    id for id in self._same_named(denial) if id.source == source and entry_matches(denial.text, id)
                )
            case str() as toolset:
                target = denial.reference
                return tuple(
                    id
                    for id in self._same_named(denial)
                    if id.toolset == toolset and (target.matches(id) if isinstance(target, Pattern) else target == id)
                )
            case None if isinstance(denial.reference, Pattern):
                return tuple(filter(denial.reference.matches, self._same_named(denial)))
            case None if denial.setting == TOOLSETS_SETTING:
                return ()
            case None:
                found = find_tools(denial.reference, self.directory, ReferenceKind.DISABLED_TOOL, suggest=False)
                if isinstance(found, UnknownReference):
                    return ()
                return None if isinstance(denial.reference, ToolsetReference | ServerReference) else found

    def _same_named(self, denial: ExactDenial) -> Iterable[ToolId]:
        """Those that have the name: without a wildcard in it, no other tool can match."""
        _, name = _parts(denial)
        names = dict.fromkeys((denial.text, name, denial.text.partition(":")[2]))
        return [id for each in names if each for id in self.directory.by_name.get(each, ())]

    def suggest_tools(self, denial: ExactDenial) -> tuple[ToolId, ...]:
        """The tools that it may mean: by a misspelled name, by the right one after something else, or by several."""
        scope, name = _parts(denial)
        ids = [id for id in self.directory.ids if _is_within(id, denial)]
        sources = [each for each in self.sources if denial.within in (None, each, each.toolset)]
        inside = {source for source in sources if scope is None or Pattern(scope, "*").matches_source(source)}
        found = dict.fromkeys(self._find_misspelled(denial, ids, inside))
        if name:
            text, of_scope = (name, [id for id in ids if id.source in inside]) if inside else (denial.text, ids)
            found.update(dict.fromkeys(self._find_by_ending(text, of_scope)))
            several = _NAMES.findall(text)
            for each in several if len(several) > 1 else ():
                found.update(dict.fromkeys(self._closest(each, [(id.name, id) for id in of_scope])))
                found.update(dict.fromkeys(self._find_by_ending(each, of_scope)))
        if isinstance(denial.within, str):
            found.update(dict.fromkeys(self._find_in_other_toolsets(denial, denial.within, inside)))
        return tuple(found)

    def _find_in_other_toolsets(
        self, denial: ExactDenial, toolset: ToolsetId, inside: Collection[SourceKey]
    ) -> Iterator[ToolId]:
        """The tools of other toolsets that an override names to the letter: it may be written under the wrong one.

        While its own toolset has not listed all of its tools it may be right, unless it names a server that is not
        in that toolset."""
        scope, name = _parts(denial)
        is_id = isinstance(denial.reference, ToolId)
        if inside and (
            is_id
            or any(self.sources_without_list(None, toolset))
            or any(map(self.is_accepted, self.find_matches(denial) or ()))
        ):
            return
        of_scope = Pattern("*" if is_id or scope is None else scope, "*")
        for id in self.directory.by_name.get(name, ()):
            if id.toolset != toolset and of_scope.matches_source(id.source):
                yield id

    def _find_misspelled(
        self, denial: ExactDenial, ids: list[ToolId], inside: Collection[SourceKey]
    ) -> tuple[ToolId, ...]:
        scope, name = _parts(denial)
        if name and inside:
            of_scope = [id for id in ids if id.source in inside]
            return self._closest(name, [(form, id) for id in of_scope for form in _forms(id, name, scope)])
        # No such server or toolset: the whole of what was written is compared.
        if not name and scope is not None:
            of_source = [(each, id) for id in ids for each in _scopes(id.source)]
            if found := self._closest(scope, of_source):
                return found
        whole = denial.text.removeprefix("mcp:").removeprefix("toolset:")
        forms = [(form, id) for id in ids for form in (id.name, *(f"{each}:{id.name}" for each in _scopes(id.source)))]
        return self._closest(whole, forms)

    def _closest(self, text: str, forms: list[tuple[str, ToolId]]) -> tuple[ToolId, ...]:
        """The tools one of whose forms is nearly the text."""
        distances = edit_distances(text, (form for form, _ in forms))
        found: dict[ToolId, int] = {}
        for form, id in forms:
            if form in distances:
                found[id] = min(found.get(id, MAX_EDITS), distances[form])
        return self._best_ranked(found, 1)

    def _find_by_ending(self, text: str, ids: Iterable[ToolId]) -> tuple[ToolId, ...]:
        """The tools with whose name the text ends, after a separator: the longest names, if there are several."""
        folded, allowed = _with_one_separator(text).strip("_"), frozenset(ids)
        starts = [place + 1 for place, letter in enumerate(folded) if letter == "_"]
        found = {id: start for start in reversed(starts) for id in self._by_ending.get(folded[start:], ())}
        return self._best_ranked({id: start for id, start in found.items() if id in allowed}, 0)

    @cached_property
    def _by_ending(self) -> Mapping[str, list[ToolId]]:
        names: dict[str, list[ToolId]] = {}
        for id in self.directory.ids:
            if ending := _with_one_separator(id.name).strip("_"):
                names.setdefault(ending, []).append(id)
        return names

    def _best_ranked(self, ranks: Mapping[ToolId, int], always: int) -> tuple[ToolId, ...]:
        """Those with the lowest rank in each source, and among its approved tools; and all of this rank or a lower one.

        So nothing that a server lists frees the tool of another server, or one that was there before."""
        least: dict[tuple[SourceKey, bool], int] = {}
        approved = self.policy.decisions.approvals
        for id, rank in ranks.items():
            for group in ((id.source, False), (id.source, id in approved)):
                least[group] = min(least.get(group, rank), rank)
        return tuple(id for id, rank in ranks.items() if rank <= max(always, least[id.source, id in approved]))

    def similar_names(self, denial: ExactDenial) -> tuple[str, ...]:
        """Names that resemble it, too little to lock their tools."""
        _, name = _parts(denial)
        return closest_names(name, {id.name for id in self.directory.ids if _is_within(id, denial)}) if name else ()

    def sources_without_list(
        self, scope: str | None, within: ProviderKey | ToolsetId | None = None
    ) -> tuple[tuple[SourceKey, ...], tuple[SourceKey, ...]]:
        """Those whose tools are not known and that may have the tool: the ones that should run, and the ones that are
        off."""
        waiting: list[SourceKey] = []
        off: list[SourceKey] = []
        for source in self.sources:
            listing = self.catalogue.listings.get(source)
            if isinstance(source, BuiltinKey) or (listing is not None and is_listing_known(listing)):
                continue
            if within not in (None, source, source.toolset):
                continue
            if scope is None or Pattern(scope, "*").matches_source(source):
                server = self.policy.servers.get(source)
                reviewed = server is None or find_quarantine(server) is None
                (waiting if find_owner_off(source, self.policy) is None and reviewed else off).append(source)
        return tuple(waiting), tuple(off)

    def other_unknown_names(self) -> Iterator[UnknownName]:
        """Entries that deny no tool by its name."""
        declared = self.policy.declared
        selection = declared.selection
        yield from self._unknown_toolsets(selection)
        for text in selection.enabled:
            if text not in declared.optional_names:
                yield from self._unknown_list_entry("selection.enabled_tools", text, declared.selection_line(text))
        for text in selection.disabled:
            if is_pattern(text) and text not in declared.optional_names:
                yield from self._unknown_list_entry("selection.disabled_tools", text, declared.selection_line(text))
        for server in self.policy.servers.values():
            yield from self._unknown_in_tool_filter(server)
        for denial in declared.denials:
            # One over every server, such as `*:drop_*`, is written for tools that are still to come.
            if is_pattern(denial.pattern.name) and denial.pattern.scope != "*" and not denial.optional:
                yield from self._unmatched_pattern("deny", denial.pattern, denial.at)
        for row in declared.overrides:
            yield from self._unknown_in_override(row)
        for listed in declared.presentation.always_visible:
            if not listed.optional:
                yield from self._unknown_list_entry("always_visible", listed.text, listed.at)
        for vain in unmatched_launch_entries(declared.prompts.launch, self.catalogue, self.policy):
            yield UnknownName(f"prompts.filter.{vain.member}", vain.text, None, "name", vain.suggestions)

    def _unknown_toolsets(self, selection: Selection) -> Iterator[UnknownName]:
        names = selection.toolsets.names if isinstance(selection.toolsets, TheseToolsets) else ()
        for name in names:
            unknown = find_toolset(name, self.directory)
            if isinstance(unknown, UnknownReference) and name not in self.policy.declared.optional_names:
                at = self.policy.declared.selection_line(name)
                yield UnknownName("selection.toolsets", name, at, "toolset", unknown.suggestions)

    def _unknown_list_entry(self, setting: str, text: str, at: Origin | None) -> Iterator[UnknownName]:
        """An entry of a list that takes names, ids, patterns, toolsets and servers."""
        wanted = parse_reference(text)
        found = find_tools(wanted, self.directory, ReferenceKind.TOOL)
        if isinstance(wanted, Pattern):
            if not found:
                yield from self._unmatched_pattern(setting, wanted, at)
            return
        if isinstance(found, UnknownReference):
            scope, _ = _parts_of(wanted)
            waiting, off = self.sources_without_list(scope)
            if not waiting:
                yield UnknownName(setting, text, at, suggestions=found.suggestions, sources_off=off)

    def _unknown_in_tool_filter(self, server: Server) -> Iterator[UnknownName]:
        limit = server.limit
        listing = self.catalogue.listings.get(server.key)
        if isinstance(limit, EveryTool) or listing is None or not has_listed(listing):
            return
        key = "enabled_tools" if isinstance(limit, OnlyTools) else "disabled_tools"
        for text, line in zip_longest(limit.names, limit.lines[: len(limit.names)]):
            exact = not is_pattern(text)
            if text in limit.optional or (exact and isinstance(limit, AllButTools)):
                continue
            if not any(entry_matches(text, tool.id) for tool in listing.tools):
                near = closest_names(text.rpartition(":")[2], (tool.id.name for tool in listing.tools)) if exact else ()
                at = line or limit.at or server.origin
                yield UnknownName(tool_filter_setting(server, key), text, at, suggestions=near, is_pattern=not exact)

    def _unmatched_pattern(self, setting: str, pattern: Pattern, at: Origin | None) -> Iterator[UnknownName]:
        if any(map(pattern.matches, self.directory.ids)):
            return
        waiting, off = self.sources_without_list(pattern.scope)
        if not waiting:
            yield UnknownName(setting, str(pattern), at, sources_off=off, is_pattern=True)

    def _unknown_in_override(self, row: Override) -> Iterator[UnknownName]:
        exact = row.is_exact
        if row.is_optional or (exact and row.restricts) or any(map(row.matches, self.directory.ids)):
            return
        waiting, off = self.sources_without_list(None, row.toolset)
        if waiting:
            return
        setting, at = f"overrides.{row.toolset}", next(iter(row.origins.values()), None)
        if row.toolset not in self.directory.toolsets:
            yield UnknownName(
                "overrides", row.toolset, at, "toolset", closest_names(row.toolset, self.directory.toolsets)
            )
        else:
            names = (id.name for id in self.directory.by_toolset.get(row.toolset, ()))
            near = closest_names(row.target.name, names) if exact else ()
            yield UnknownName(setting, str(row.target), at, suggestions=near, sources_off=off, is_pattern=not exact)


def _as_written(denial: ExactDenial, id: ToolId) -> str:
    """The tool in the form in which the entry names one."""
    scope, name = _parts(denial)
    if denial.setting == TOOLSETS_SETTING:
        return id.toolset
    return id.name if scope is None and name and _is_within(id, denial) else str(id)


def _parts(denial: ExactDenial) -> tuple[str | None, str]:
    """The server or toolset that was named, if one was, and the tool's name, which is empty for all of its tools."""
    return _parts_of(denial.reference)


def _parts_of(about: Reference) -> tuple[str | None, str]:
    match about:
        case NameReference(name):
            return None, name
        case ToolId(source, name):
            return (None if isinstance(source, BuiltinKey) else str(source)), name
        case LegacyToolId(server, name):
            return server, name
        case ToolsetReference(toolset):
            return toolset, ""
        case ServerReference(server):
            return str(server), ""
        case Pattern(scope, name):
            return (None if scope == "*" else scope), name
        case _:
            return None, ""


def _is_within(id: ToolId, denial: ExactDenial) -> bool:
    match denial.within:
        case None:
            return True
        case str() as toolset:
            return id.toolset == toolset
        case source:
            return id.source == source


def _forms(id: ToolId, name: str, scope: str | None) -> tuple[str, ...]:
    """The names under which a client may see the tool, as far as the entry can be one of them."""
    return (id.name, *long_names(id)) if scope is None and "__" in name else (id.name,)


def _with_one_separator(text: str) -> str:
    return fold_name(text).translate(_SEPARATORS)


def _scopes(source: SourceKey) -> tuple[str, ...]:
    return (source.toolset, source.server, str(source)) if isinstance(source, ServerKey) else (str(source.toolset),)
