"""What a source offers beside tools (prompts, resources, resource templates), and which of it one view is given.

The rules are those of tools, held against the source as a whole: what locks every tool of a source withholds what else
it offers. Nobody approves prompts and resources one by one, so under the trust `strict` they stay withheld.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, TypeAlias, assert_never

from .catalogue import Catalogue, Listing
from .ids import BuiltinKey, ProviderKey, Source, ToolId, WireName
from .naming import wire_names
from .offer import Offers, Prompt, Resource, Template
from .passage import FilteredAway, NarrowedAway, NoDatabase, NotGranted, NotSelected, Removal
from .pattern import Pattern
from .policy import Policy
from .reference import OfServer, OfToolset, reference
from .rules import RULES, SOURCE_RULES
from .selection import Everything, Selection
from .server import DeclaredAt, InstalledBy, Trust
from .status import Reason, precedence, remedy, sentence
from .tool import Tool, ToolSpec
from .view import View


@dataclass(frozen=True)
class Unreviewed:
    """The server's trust is strict, and nobody reviews prompts and resources one by one."""

    server: ProviderKey


@dataclass(frozen=True)
class Given:
    """The view gets what the source offers."""


@dataclass(frozen=True)
class Withheld:
    """The view may know the source, and is not given what it offers."""

    reason: Reason | Unreviewed


@dataclass(frozen=True)
class Beyond:
    """Outside the view: not even the names are worked out for it."""

    removed: Removal


Opening: TypeAlias = Given | Withheld | Beyond


Since: TypeAlias = Mapping[Source, Mapping[str, int]]
"""For each source since when it has had each of its URIs and templates: the lower, the earlier."""


@dataclass(frozen=True)
class Offered:
    """What one view is given, in one deterministic order: by source, then as the source listed it."""

    prompts: Mapping[WireName, tuple[Source, Prompt]]
    resources: Mapping[str, tuple[Source, Resource]]
    templates: Mapping[str, tuple[Source, Template]]
    doubles: Mapping[str, tuple[Source, ...]] = field(default_factory=dict[str, tuple[Source, ...]])
    """Each URI that several sources offer, who had it first before the others."""
    forms: tuple[tuple[str, Source], ...] = ()
    """Each template of each source, who had it first before the others."""
    names: Mapping[ToolId, WireName] = field(default_factory=dict[ToolId, WireName])
    """Of every prompt of every source this view may know of, so that a lock renames nothing."""

    def holders(self, uri: str) -> tuple[Source, ...]:
        """Who lists this resource, the first of them before the others."""
        if (several := self.doubles.get(uri)) is not None:
            return several
        listed = self.resources.get(uri)
        return () if listed is None else (listed[0],)


ANY: Final = "*"
"""Stands for whatever a source has, where a rule asks for the name of a tool."""


def openings(catalogue: Catalogue, policy: Policy, view: View) -> Mapping[Source, Opening]:
    """For each source whether this view is given what it offers, and why not. Cheap: it looks at no offer."""
    return {source: _opening(listing, policy, view) for source, listing in catalogue.listings.items()}


def offered(
    catalogue: Catalogue,
    policy: Policy,
    view: View,
    *,
    held: Mapping[WireName, ToolId] = MappingProxyType({}),
) -> Offered:
    """`held` are the names of prompts that this view was given before, as `resolve` takes those of tools."""
    return arranged(catalogue, policy, openings(catalogue, policy, view), held=held)


def arranged(
    catalogue: Catalogue,
    policy: Policy,
    openings: Mapping[Source, Opening],
    *,
    held: Mapping[WireName, ToolId] = MappingProxyType({}),
    since: Since = MappingProxyType({}),
) -> Offered:
    """Whoever had a URI or a template first keeps it; of those who came at once, whoever was declared first."""
    known = [
        ToolId(source, prompt.name)
        for source, opening in openings.items()
        if not isinstance(opening, Beyond)
        for prompt in catalogue.listings[source].offers.prompts
    ]
    names = wire_names(known, held, legal=_is_legal)
    prompts: dict[WireName, tuple[Source, Prompt]] = {}
    resources: dict[str, tuple[Source, Resource]] = {}
    templates: dict[str, tuple[Source, Template]] = {}
    rank = _rank(catalogue, policy, since)
    claims = _Claims()
    forms = _Claims()
    given: dict[Source, Offers] = {}
    for source, opening in openings.items():
        if not isinstance(opening, Given):
            continue
        offers = given[source] = permitted(catalogue.listings[source], policy)
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
    return Offered(
        prompts,
        resources,
        templates,
        {key: tuple(sources) for key, sources in claims.several.items()},
        tuple(sorted(forms.all(), key=lambda form: rank(form[1], form[0]))),
        names,
    )


Rank: TypeAlias = Callable[[Source, str], tuple[int, tuple[int, str, float], int]]


def _rank(catalogue: Catalogue, policy: Policy, since: Since) -> Rank:
    """Before others is who had it before them; among equals the files in their order, then what was installed, by its
    time, so that a restart gives nothing to whoever came later; and last the order of the board."""
    places = {source: (_standing(source, policy), number) for number, source in enumerate(catalogue.listings)}
    never: Mapping[str, int] = {}

    def rank(source: Source, key: str) -> tuple[int, tuple[int, str, float], int]:
        return since.get(source, never).get(key, 0), *places[source]

    return rank


def _standing(source: Source, policy: Policy) -> tuple[int, str, float]:
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


class _Claims:
    """Which sources have each key. Most keys have one, so only the others get a list."""

    def __init__(self) -> None:
        self.first: dict[str, Source] = {}
        self.several: dict[str, list[Source]] = {}

    def add(self, source: Source, keys: Iterable[str]) -> None:
        for key in keys:
            first = self.first.setdefault(key, source)
            if first == source:
                continue
            sources = self.several.setdefault(key, [first])
            if sources[-1] != source:
                sources.append(source)

    def settle(self, rank: Rank) -> None:
        for key, sources in self.several.items():
            sources.sort(key=lambda source: rank(source, key))
            self.first[key] = sources[0]

    def all(self) -> Iterator[tuple[str, Source]]:
        for key, first in self.first.items():
            yield from ((key, source) for source in self.several.get(key, (first,)))


def permitted(listing: Listing, policy: Policy) -> Offers:
    """Without what an operator's deny pattern fits: a prompt by its name, a resource by its URI."""
    offers, source = listing.offers, listing.source
    if not policy.declared.denials:
        return offers
    return Offers(
        tuple(each for each in offers.prompts if not denied(source, each.name, policy)),
        tuple(each for each in offers.resources if not denied(source, each.uri, policy)),
        tuple(each for each in offers.templates if not denied(source, each.pattern, policy)),
    )


def denied(source: Source, name: str, policy: Policy) -> bool:
    return bool(policy.deny_patterns.fitting(ToolId(source, name)))


def why_not(source: Source, opening: Opening) -> str | None:
    """Why a view is not given what a source offers, and what to do: for operators."""
    match opening:
        case Given():
            return None
        case Withheld(Unreviewed()):
            return (
                f"The prompts and resources of {source} are withheld: its trust is strict, and nobody reviews them "
                "one by one. Set its trust to baseline or open to have them."
            )
        case Withheld(reason):
            assert not isinstance(reason, Unreviewed)
            return f"The prompts and resources of {source} are withheld: {sentence(reason)} {remedy(reason)}"
        case Beyond(removed):
            return _beyond(source, removed)
        case _:
            assert_never(opening)


def _beyond(source: Source, removed: Removal) -> str:
    match removed:
        case NotSelected():
            return f"The board's selection does not choose {source} as a whole."
        case NotGranted():
            return f"The toolset {source.toolset} is not granted."
        case NarrowedAway():
            return f"The request does not choose {source} as a whole, by its toolset or its server."
        case FilteredAway(why):
            return f"{source} is filtered away: {why}."
        case NoDatabase():
            return f"No database of {source} may be asked."
        case _:
            assert_never(removed)


def chooses(selection: Selection, source: Source) -> bool:
    """Whether a source is chosen as a whole. Naming single tools of it does not choose it."""
    toolsets = selection.toolsets
    whole = isinstance(toolsets, Everything) or source.toolset in {name.strip().lower() for name in toolsets.names}
    if not whole and not any(_means_all(text, source) for text in selection.enabled):
        return False
    return not any(_means_all(text, source) for text in selection.disabled)


def _opening(listing: Listing, policy: Policy, view: View) -> Opening:
    source = listing.source
    if (removed := _removal(source, policy, view)) is not None:
        return Beyond(removed)
    stand_in = Tool(ToolId(source, ANY), ToolSpec(ANY))
    found = [rule(stand_in, listing.health, policy) for rule in RULES if rule in SOURCE_RULES]
    reasons = [reason for reason in found if reason is not None]
    if reasons:
        return Withheld(min(reasons, key=precedence))
    server = None if isinstance(source, BuiltinKey) else policy.servers.get(source)
    if server is not None and policy.trust(server) is Trust.STRICT:
        return Withheld(Unreviewed(server.key))
    return Given()


def _removal(source: Source, policy: Policy, view: View) -> Removal | None:
    if not chooses(policy.declared.selection, source):
        return NotSelected(policy.declared.selection)
    limit = policy.limit(view.principal)
    if limit is not None and source.toolset not in limit.toolsets:
        return NotGranted(limit, source.toolset)
    for narrowing in view.narrowings:
        if not chooses(narrowing, source):
            return NarrowedAway(narrowing)
    for each in view.filters:
        if (barred := each.bars_source(source)) is not None:
            return FilteredAway(barred)
    return None


def _means_all(text: str, source: Source) -> bool:
    match reference(text):
        case OfToolset(toolset):
            return toolset == source.toolset
        case OfServer(server):
            return server == source
        case Pattern(_, name) as every:
            return set(name) == {ANY} and every.matches_source(source)
        case _:
            return False


def _is_legal(name: str) -> bool:
    """Prompts are picked by people from a menu: any name that a source may list can stand."""
    return bool(name)
