"""All listings: what each provider offers, and its health."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Final, TypeAlias

from pegboard.core.json.values import JsonObject
from pegboard.core.model.ids import SourceKey, ToolId
from pegboard.core.model.tool import Tool, canonical_json

# One prompt, resource or resource template as its source describes it: its key, and the JSON object as it came.


@dataclass(frozen=True)
class PromptEntry:
    name: str
    body: JsonObject = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class ResourceEntry:
    uri: str
    body: JsonObject = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class ResourceTemplate:
    pattern: str
    """The `uriTemplate`: the form of many URIs."""
    body: JsonObject = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class ProviderResources:
    """All that one source offers beside its tools."""

    prompts: tuple[PromptEntry, ...] = ()
    resources: tuple[ResourceEntry, ...] = ()
    templates: tuple[ResourceTemplate, ...] = ()


NO_RESOURCES: Final = ProviderResources()


def is_same_resources(one: ProviderResources, other: ProviderResources) -> bool:
    """By their texts: to Python 1, 1.0 and True are equal, to a client they are three things."""
    return one is other or (_keys(one) == _keys(other) and all(map(_is_same_body, _bodies(one), _bodies(other))))


def _keys(offers: ProviderResources) -> tuple[tuple[str, ...], ...]:
    return (
        tuple(prompt.name for prompt in offers.prompts),
        tuple(resource.uri for resource in offers.resources),
        tuple(template.pattern for template in offers.templates),
    )


def _bodies(offers: ProviderResources) -> tuple[JsonObject, ...]:
    return tuple(each.body for each in (*offers.prompts, *offers.resources, *offers.templates))


def _is_same_body(one: JsonObject, other: JsonObject) -> bool:
    return one is other or canonical_json(one) == canonical_json(other)


@dataclass(frozen=True, slots=True)
class ProviderUp:
    since: datetime


@dataclass(frozen=True, slots=True)
class ProviderStart:
    attempt: int
    since: datetime


@dataclass(frozen=True, slots=True)
class ProviderDown:
    since: datetime
    why: str
    retry_at: datetime | None = None
    last_lines: tuple[str, ...] = ()
    """What the server last wrote to its error stream: for operators, never for agents."""
    fix: str = ""
    """What its provider says to do, as a request: `correct the settings`. Then `why` is in the provider's own words, so
    that agents read it whole."""


@dataclass(frozen=True, slots=True)
class ProviderNeedsSignIn:
    """Without a link: whoever follows one decides in whose account everybody works, so it is made only on request."""

    since: datetime
    why: str = ""
    """What became of an earlier sign-in: for operators."""


@dataclass(frozen=True, slots=True)
class ProviderAsleep:
    """Not connected, because nobody needs it now: its tools stay open, and a call wakes it."""

    since: datetime
    why: str = "a call wakes it"
    """What it waits for: for operators."""


@dataclass(frozen=True, slots=True)
class ProviderOff:
    """Not started, because it is switched off."""


Health: TypeAlias = ProviderUp | ProviderStart | ProviderDown | ProviderNeedsSignIn | ProviderAsleep | ProviderOff


def is_first_start(health: Health) -> bool:
    """A second attempt tells that the first one failed."""
    return isinstance(health, ProviderStart) and health.attempt <= 1


@dataclass(frozen=True, slots=True)
class ListingProblem:
    """What was listed but cannot hang on the board, and why; or what is wrong with a list."""

    name: str
    why: str
    fix: str = ""
    """What a person can do about it; empty where only the author can."""

    @property
    def sentence(self) -> str:
        """It reads on from the server's name."""
        why = self.why if self.why.endswith("?") else f"{self.why.rstrip('.')}."
        if self.name.startswith("the list"):
            return f"gives a list that {why}" if self.name == "the list" else f"gives a {self.name[4:]} that {why}"
        return f"lists {self.name!r}, which cannot hang on the board: {why}"


@dataclass(frozen=True)
class Listing:
    """One provider's latest word. A provider that goes down keeps its last tools, so the wall can show them locked."""

    source: SourceKey
    health: Health
    tools: tuple[Tool, ...] = ()
    problems: tuple[ListingProblem, ...] = ()
    resources: ProviderResources = NO_RESOURCES
    """What it has beside tools, as it last said."""
    is_remembered: bool = False
    """Nobody who runs has listed these tools: they are known from approvals, or from a look before a review."""

    @property
    def effective_health(self) -> Health:
        """What its tools are judged by. What is only remembered cannot be called, whatever is said of the source."""
        return (
            ProviderOff()
            if self.is_remembered and isinstance(self.health, ProviderUp | ProviderAsleep)
            else self.health
        )

    @cached_property
    def by_id(self) -> Mapping[ToolId, Tool]:
        return {tool.id: tool for tool in self.tools}


def is_listing_known(listing: Listing) -> bool:
    """Whether it is known what a source has: it listed it, or it is up and has nothing."""
    return bool(listing.tools) or isinstance(listing.health, ProviderUp)


def has_listed(listing: Listing) -> bool:
    """Whether what hangs of a source is its own word of what it has. It may have fallen asleep since; without tools, or
    with remembered ones, it may never have been asked."""
    asleep = isinstance(listing.health, ProviderAsleep) and bool(listing.tools) and not listing.is_remembered
    return asleep or isinstance(listing.health, ProviderUp)


@dataclass(frozen=True)
class Catalogue:
    listings: Mapping[SourceKey, Listing] = field(default_factory=dict[SourceKey, Listing])

    @cached_property
    def tools(self) -> Mapping[ToolId, Tool]:
        """Every tool there is, in one deterministic order: by source, then as the source listed them."""
        return {tool.id: tool for listing in self.listings.values() for tool in listing.tools}

    @cached_property
    def by_name(self) -> Mapping[str, tuple[ToolId, ...]]:
        """Every tool by its own name, which tools of several sources may share."""
        named: dict[str, list[ToolId]] = {}
        for id in self.tools:
            named.setdefault(id.name, []).append(id)
        return {name: tuple(ids) for name, ids in named.items()}

    def health(self, source: SourceKey) -> Health | None:
        listing = self.listings.get(source)
        return None if listing is None else listing.effective_health


def build_catalogue(listings: Iterable[Listing]) -> Catalogue:
    latest = {listing.source: listing for listing in listings}
    return Catalogue({source: latest[source] for source in sorted(latest, key=str)})
