"""What a source offers beside tools (prompts, resources, resource templates), and which of it one view is given.

The rules are those of tools, held against the source as a whole: what locks every tool of a source withholds what else
it offers. Nobody approves prompts and resources one by one, so under the trust `strict` they stay withheld.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, TypeAlias, assert_never

from pegboard.core.decision.rules import RULES, SOURCE_RULES
from pegboard.core.decision.status import LockReason, explain_reason, precedence_of, remedy
from pegboard.core.decision.visibility import (
    HiddenByGrants,
    HiddenByLaunchFilter,
    HiddenByNarrowerView,
    HiddenBySelection,
    HiddenReason,
    HiddenWithoutDatabase,
)
from pegboard.core.model.catalogue import (
    Catalogue,
    Listing,
    PromptEntry,
    ProviderResources,
    ResourceEntry,
    ResourceTemplate,
)
from pegboard.core.model.ids import BuiltinKey, ProviderKey, SourceKey, ToolId, WireName
from pegboard.core.model.patterns import Pattern
from pegboard.core.model.references import ServerReference, ToolsetReference, parse_reference
from pegboard.core.model.selection import AllToolsets, Selection, View
from pegboard.core.model.server import DeclaredAt, InstalledBy, Trust
from pegboard.core.model.text import Audience
from pegboard.core.model.tool import Tool, ToolSpec
from pegboard.core.model.wire_names import assign_wire_names
from pegboard.core.policy.policy import Policy


@dataclass(frozen=True)
class UnreviewedServer:
    """The server's trust is strict, and nobody reviews prompts and resources one by one."""

    server: ProviderKey


@dataclass(frozen=True)
class ResourcesVisible:
    """The view gets what the source offers."""


@dataclass(frozen=True)
class ResourcesWithheld:
    """The view may know the source, and is not given what it offers."""

    reason: LockReason | UnreviewedServer


@dataclass(frozen=True)
class ResourcesOutOfView:
    """Outside the view: not even the names are worked out for it."""

    reason: HiddenReason


ResourceVisibility: TypeAlias = ResourcesVisible | ResourcesWithheld | ResourcesOutOfView


FirstSeen: TypeAlias = Mapping[SourceKey, Mapping[str, int]]
"""For each source since when it has had each of its URIs and templates: the lower, the earlier."""


@dataclass(frozen=True)
class ResourceView:
    """What one view is given, in one deterministic order: by source, then as the source listed it."""

    prompts: Mapping[WireName, tuple[SourceKey, PromptEntry]]
    resources: Mapping[str, tuple[SourceKey, ResourceEntry]]
    templates: Mapping[str, tuple[SourceKey, ResourceTemplate]]
    duplicates: Mapping[str, tuple[SourceKey, ...]] = field(default_factory=dict[str, tuple[SourceKey, ...]])
    """Each URI that several sources offer, who had it first before the others."""
    patterns: tuple[tuple[str, SourceKey], ...] = ()
    """Each template of each source, who had it first before the others."""
    names: Mapping[ToolId, WireName] = field(default_factory=dict[ToolId, WireName])
    """Of every prompt of every source this view may know of, so that a lock renames nothing."""

    def sources_of(self, uri: str) -> tuple[SourceKey, ...]:
        """Who lists this resource, the first of them before the others."""
        if (several := self.duplicates.get(uri)) is not None:
            return several
        listed = self.resources.get(uri)
        return () if listed is None else (listed[0],)


ANY_NAME: Final = "*"
"""Stands for whatever a source has, where a rule asks for the name of a tool."""


def resource_visibility(catalogue: Catalogue, policy: Policy, view: View) -> Mapping[SourceKey, ResourceVisibility]:
    """For each source whether this view is given what it offers, and why not. Cheap: it looks at no offer."""
    return {source: _visibility_of(listing, policy, view) for source, listing in catalogue.listings.items()}


def resolve_resources(
    catalogue: Catalogue,
    policy: Policy,
    view: View,
    *,
    held: Mapping[WireName, ToolId] = MappingProxyType({}),
) -> ResourceView:
    """`held` are the names of prompts that this view was given before, as `resolve` takes those of tools."""
    return build_resource_view(catalogue, policy, resource_visibility(catalogue, policy, view), held=held)


def build_resource_view(
    catalogue: Catalogue,
    policy: Policy,
    openings: Mapping[SourceKey, ResourceVisibility],
    *,
    held: Mapping[WireName, ToolId] = MappingProxyType({}),
    since: FirstSeen = MappingProxyType({}),
) -> ResourceView:
    """Whoever had a URI or a template first keeps it; of those who came at once, whoever was declared first."""
    known = [
        ToolId(source, prompt.name)
        for source, opening in openings.items()
        if not isinstance(opening, ResourcesOutOfView)
        for prompt in catalogue.listings[source].resources.prompts
    ]
    # Prompts are picked by people from a menu: any name that a source may list can stand.
    names = assign_wire_names(known, held, legal=bool)
    prompts: dict[WireName, tuple[SourceKey, PromptEntry]] = {}
    resources: dict[str, tuple[SourceKey, ResourceEntry]] = {}
    templates: dict[str, tuple[SourceKey, ResourceTemplate]] = {}
    rank = _rank(catalogue, policy, since)
    claims = _KeyClaims()
    forms = _KeyClaims()
    given: dict[SourceKey, ProviderResources] = {}
    for source, opening in openings.items():
        if not isinstance(opening, ResourcesVisible):
            continue
        offers = given[source] = allowed_resources(catalogue.listings[source], policy)
        prompts |= {names[ToolId(source, prompt.name)]: (source, prompt) for prompt in offers.prompts}
        claims.add(source, (resource.uri for resource in offers.resources))
        forms.add(source, (template.pattern for template in offers.templates))
    claims.settle(rank)
    forms.settle(rank)
    for source, offers in given.items():
        for resource in offers.resources:
            if claims.first[resource.uri] == source:
                resources.setdefault(resource.uri, (source, resource))
        for template in offers.templates:
            if forms.first[template.pattern] == source:
                templates.setdefault(template.pattern, (source, template))
    return ResourceView(
        prompts,
        resources,
        templates,
        {key: tuple(sources) for key, sources in claims.several.items()},
        tuple(sorted(forms.all(), key=lambda form: rank(form[1], form[0]))),
        names,
    )


ClaimRank: TypeAlias = Callable[[SourceKey, str], tuple[int, tuple[int, str, float], int]]


def _rank(catalogue: Catalogue, policy: Policy, since: FirstSeen) -> ClaimRank:
    """Before others is who had it before them; among equals the files in their order, then what was installed, by its
    time, so that a restart gives nothing to whoever came later; and last the order of the board."""
    places = {source: (_declaration_rank(source, policy), number) for number, source in enumerate(catalogue.listings)}
    never: Mapping[str, int] = {}

    def rank(source: SourceKey, key: str) -> tuple[int, tuple[int, str, float], int]:
        return since.get(source, never).get(key, 0), *places[source]

    return rank


def _declaration_rank(source: SourceKey, policy: Policy) -> tuple[int, str, float]:
    server = None if isinstance(source, BuiltinKey) else policy.servers.get(source)
    match None if server is None else server.origin:
        case None:
            return 0, "", 0.0
        case DeclaredAt(file, line):
            return 1, file, float(line)
        case InstalledBy(_, at):
            return 2, "", at.timestamp()
        case origin:
            assert_never(origin)


class _KeyClaims:
    """Which sources have each key. Most keys have one, so only the others get a list."""

    def __init__(self) -> None:
        self.first: dict[str, SourceKey] = {}
        self.several: dict[str, list[SourceKey]] = {}

    def add(self, source: SourceKey, keys: Iterable[str]) -> None:
        for key in keys:
            first = self.first.setdefault(key, source)
            if first == source:
                continue
            sources = self.several.setdefault(key, [first])
            if sources[-1] != source:
                sources.append(source)

    def settle(self, rank: ClaimRank) -> None:
        for key, sources in self.several.items():
            sources.sort(key=lambda source: rank(source, key))
            self.first[key] = sources[0]

    def all(self) -> Iterator[tuple[str, SourceKey]]:
        for key, first in self.first.items():
            yield from ((key, source) for source in self.several.get(key, (first,)))


def allowed_resources(listing: Listing, policy: Policy) -> ProviderResources:
    """Without what an operator's deny pattern fits: a prompt by its name, a resource by its URI."""
    offers, source = listing.resources, listing.source
    if not policy.declared.denials:
        return offers
    return ProviderResources(
        tuple(each for each in offers.prompts if not is_denied(source, each.name, policy)),
        tuple(each for each in offers.resources if not is_denied(source, each.uri, policy)),
        tuple(each for each in offers.templates if not is_denied(source, each.pattern, policy)),
    )


def is_denied(source: SourceKey, name: str, policy: Policy) -> bool:
    return bool(policy.deny_patterns.matching_indexes(ToolId(source, name)))


def explain_not_visible(source: SourceKey, opening: ResourceVisibility) -> str | None:
    """Why a view is not given what a source offers, and what to do: for operators."""
    match opening:
        case ResourcesVisible():
            return None
        case ResourcesWithheld(UnreviewedServer()):
            return (
                f"The prompts and resources of {source} are withheld: its trust is strict, and nobody reviews them "
                "one by one. Set its trust to baseline or open to have them."
            )
        case ResourcesWithheld(reason):
            assert not isinstance(reason, UnreviewedServer)
            why = f"{explain_reason(reason)} {remedy(reason, Audience.OPERATOR)}"
            return f"The prompts and resources of {source} are withheld: {why}"
        case ResourcesOutOfView(removed):
            return _explain_out_of_view(source, removed)
        case _:
            assert_never(opening)


def _explain_out_of_view(source: SourceKey, removed: HiddenReason) -> str:
    match removed:
        case HiddenBySelection():
            return f"The board's selection does not choose {source} as a whole."
        case HiddenByGrants():
            return f"The toolset {source.toolset} is not granted."
        case HiddenByNarrowerView():
            return f"The request does not choose {source} as a whole, by its toolset or its server."
        case HiddenByLaunchFilter(why):
            return f"{source} is filtered away: {why}."
        case HiddenWithoutDatabase():
            return f"No database of {source} may be asked."
        case _:
            assert_never(removed)


def selects_source(selection: Selection, source: SourceKey) -> bool:
    """Whether a source is chosen as a whole. Naming single tools of it does not choose it."""
    toolsets = selection.toolsets
    whole = isinstance(toolsets, AllToolsets) or source.toolset in {name.strip().lower() for name in toolsets.names}
    if not whole and not any(_means_all(text, source) for text in selection.enabled):
        return False
    return not any(_means_all(text, source) for text in selection.disabled)


def _visibility_of(listing: Listing, policy: Policy, view: View) -> ResourceVisibility:
    source = listing.source
    if (removed := _hidden_reason(source, policy, view)) is not None:
        return ResourcesOutOfView(removed)
    stand_in = Tool(ToolId(source, ANY_NAME), ToolSpec(ANY_NAME))
    found = [rule(stand_in, listing.health, policy) for rule in RULES if rule in SOURCE_RULES]
    reasons = [reason for reason in found if reason is not None]
    if reasons:
        return ResourcesWithheld(min(reasons, key=precedence_of))
    server = None if isinstance(source, BuiltinKey) else policy.servers.get(source)
    if server is not None and policy.trust(server) is Trust.STRICT:
        return ResourcesWithheld(UnreviewedServer(server.key))
    return ResourcesVisible()


def _hidden_reason(source: SourceKey, policy: Policy, view: View) -> HiddenReason | None:
    if not selects_source(policy.declared.selection, source):
        return HiddenBySelection(policy.declared.selection)
    limit = policy.grants_of(view.principal)
    if limit is not None and source.toolset not in limit.toolsets:
        return HiddenByGrants(limit, source.toolset)
    for narrowing in view.narrowings:
        if not selects_source(narrowing, source):
            return HiddenByNarrowerView(narrowing)
    for each in view.filters:
        if (barred := each.find_source_block(source)) is not None:
            return HiddenByLaunchFilter(barred)
    return None


def _means_all(text: str, source: SourceKey) -> bool:
    match parse_reference(text):
        case ToolsetReference(toolset):
            return toolset == source.toolset
        case ServerReference(server):
            return server == source
        case Pattern(_, name) as every:
            return set(name) == {ANY_NAME} and every.matches_source(source)
        case _:
            return False
