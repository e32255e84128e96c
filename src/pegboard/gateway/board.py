"""The board: the current catalogue and policy, and caches of what was resolved from them."""

from collections import OrderedDict
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property, partial
from typing import Final, TypeAlias

import anyio
from anyio import to_thread

from pegboard.config.paths import SettingsSource
from pegboard.config.schema.document import ConfigWarnings, FileProblem
from pegboard.core.decision.resolve import (
    LockedTool,
    OpenTool,
    Resolution,
    build_visibility_filter,
    judge_listing,
    resolve,
)
from pegboard.core.decision.unknown_names import with_suspects
from pegboard.core.decision.visibility import VisibilityFilter
from pegboard.core.explain.board import Dashboard, build_dashboard
from pegboard.core.model.catalogue import (
    NO_RESOURCES,
    Catalogue,
    Listing,
    ProviderAsleep,
    ProviderResources,
    ProviderUp,
    build_catalogue,
    is_first_start,
    is_same_resources,
)
from pegboard.core.model.ids import SourceKey, ToolId, WireName
from pegboard.core.model.selection import View
from pegboard.core.model.tool import Tool, ToolSpec, canonical_json
from pegboard.core.policy.policy import Denial, Policy
from pegboard.core.presentations.costs import EndpointToolList, endpoint_tool_list, spec_as_shown
from pegboard.core.presentations.entries import rough_tool_cost
from pegboard.core.resources.visibility import (
    FirstSeen,
    ResourceView,
    ResourceVisibility,
    build_resource_view,
    resource_visibility,
)
from pegboard.gateway.argument_values import keep_policy
from pegboard.gateway.signals import ChangeSignal
from pegboard.memory import pause_garbage_collection

# What is known of sources that have not listed anything since the gateway started: the board shows it, locked.


class ApprovedToolPlaceholders:
    """From a look at a server in quarantine, else from what was approved. The first list of the source replaces it."""

    def __init__(self) -> None:
        self._listed_sources: set[SourceKey] = set()
        self._previews: dict[SourceKey, tuple[Tool, ...]] = {}

    def record_preview(self, listing: Listing) -> None:
        if listing.tools and listing.source not in self._listed_sources:
            self._previews[listing.source] = listing.tools

    def forget(self, source: SourceKey) -> None:
        self._listed_sources.discard(source)
        self._previews.pop(source, None)

    def with_placeholders(self, listing: Listing, policy: Policy) -> Listing:
        """With the tools that are remembered, if the source has never said what it has."""
        source = listing.source
        if not listing.is_remembered and (listing.tools or isinstance(listing.health, ProviderUp | ProviderAsleep)):
            self._listed_sources.add(source)
            self._previews.pop(source, None)
        if source in self._listed_sources:
            return listing
        tools = self._tools(source, policy)
        return (
            replace(listing, tools=tools, is_remembered=True)
            if tools
            else replace(listing, tools=(), is_remembered=False)
        )

    def refresh(self, known: Catalogue, policy: Policy) -> Catalogue:
        """The same after a decision: what was approved may be another."""
        silent = [word for source, word in known.listings.items() if source not in self._listed_sources]
        again = {word.source: self.with_placeholders(word, policy) for word in silent}
        if all(map(_is_same, silent, again.values())):
            return known
        return build_catalogue(again.get(source, word) for source, word in known.listings.items())

    def _tools(self, source: SourceKey, policy: Policy) -> tuple[Tool, ...]:
        if source in self._previews:
            return self._previews[source]
        approvals = policy.decisions.approvals
        return tuple(Tool(id, approvals[id].spec) for id in policy.approved_tools.by_source.get(source, ()))


def _is_same(former: Listing, latest: Listing) -> bool:
    """By identity of the definitions: to compare thousands would take longer than to show them anew."""
    pairs = zip(former.tools, latest.tools, strict=False)
    return len(former.tools) == len(latest.tools) and all(a.id == b.id and a.spec is b.spec for a, b in pairs)


# Names and URIs that were given before: none of them moves to another thing unsaid.

MAX_RETIRED_NAMES: Final = 10_000
"""How many names of things that are gone one view keeps from being given to others; and how many URIs, a source."""

MAX_RETIRED_SOURCES: Final = 100


def reserve_names(
    before: Mapping[WireName, ToolId], now: Mapping[WireName, ToolId], there: Container[ToolId]
) -> Mapping[WireName, ToolId]:
    """A name stays its tool's own, whatever becomes of the tool: who still knows the old list must not reach another.

    What is still `there` keeps each of its names; of what has gone, as many are kept as were given last.
    """
    former = {name: id for name, id in before.items() if name not in now}
    if not former:
        return now
    gone = [name for name, id in former.items() if id not in there] if len(former) > MAX_RETIRED_NAMES else []
    surplus = gone[: max(0, len(gone) - MAX_RETIRED_NAMES)]
    if not surplus and len(former) + len(now) == len(before):
        # No name moves, so as many as there were are the same ones, and one mapping does for them all.
        return before
    for name in surplus:
        del former[name]
    return {**former, **now}


class NameHistory:
    """Since when each source has had its URIs and templates, counted in the times that somebody was told of new ones.

    What a source no longer lists, or one that is away, keeps its place: whoever takes the URI meanwhile gives it back.
    """

    def __init__(self) -> None:
        self._since: dict[SourceKey, dict[str, int]] = {}
        self._offers: dict[SourceKey, ProviderResources] = {}
        self._round = 0

    def since(self, listings: Iterable[Listing]) -> FirstSeen:
        there = tuple(listings)
        fresh = [each for each in there if self._offers.get(each.source, NO_RESOURCES) is not each.resources]
        self._round += bool(fresh)
        for current in fresh:
            offers = self._offers[current.source] = current.resources
            known = self._since.setdefault(current.source, {})
            now = [*(each.uri for each in offers.resources), *(each.pattern for each in offers.templates)]
            for key in now:
                known.setdefault(key, self._round)
            if len(known) > len(now) + MAX_RETIRED_NAMES:
                listed = set(now)
                gone = [key for key in known if key not in listed]
                for key in gone[: len(gone) - MAX_RETIRED_NAMES]:
                    del known[key]
        if len(self._since) > len(there) + MAX_RETIRED_SOURCES:
            self._forget({each.source for each in there})
        return self._since

    def _forget(self, there: Container[SourceKey]) -> None:
        gone = [source for source in self._since if source not in there]
        for source in gone[: len(gone) - MAX_RETIRED_SOURCES]:
            del self._since[source]
            self._offers.pop(source, None)


# What each view is given beside tools, arranged once and remembered for as long as it stays the same.

MAX_CACHED_VIEWS: Final = 1024
MAX_CACHED_OFFERS: Final = 500_000
"""Summed over all views: a few views of a large shelf weigh as much as a thousand of a small one."""

ViewInputs: TypeAlias = tuple[
    tuple[Denial, ...], tuple[tuple[SourceKey, type[ResourceVisibility], ProviderResources], ...]
]
"""All that an arrangement is made from. A server that went down and came back with the same is no news."""


@dataclass(frozen=True)
class _CachedView:
    inputs: ViewInputs
    view: ResourceView
    reserved_names: Mapping[WireName, ToolId]

    @property
    def weight(self) -> int:
        return len(self.reserved_names) + len(self.view.resources) + len(self.view.templates) + len(self.view.patterns)


class ResourceViewCache:
    def __init__(self) -> None:
        self._views: OrderedDict[View, _CachedView] = OrderedDict()
        self._weight = 0
        self._name_history = NameHistory()

    def resource_view(self, catalogue: Catalogue, policy: Policy, view: View) -> ResourceView:
        opened = resource_visibility(catalogue, policy, view)
        ingredients = _view_inputs(catalogue, policy, opened)
        known = self._views.get(view)
        if known is not None and _shelf_is_same(known.inputs, ingredients):
            self._views.move_to_end(view)
            return known.view
        held: Mapping[WireName, ToolId] = {} if known is None else known.reserved_names
        since = self._name_history.since(catalogue.listings.values())
        fresh = build_resource_view(catalogue, policy, opened, held=held, since=since)
        names = {name: id for id, name in fresh.names.items()}
        self._cache(view, _CachedView(ingredients, fresh, reserve_names(held, names, fresh.names)))
        return fresh

    def _cache(self, view: View, fresh: _CachedView) -> None:
        former = self._views.pop(view, None)
        self._views[view] = fresh
        self._weight += fresh.weight - (0 if former is None else former.weight)
        while len(self._views) > 1 and (len(self._views) > MAX_CACHED_VIEWS or self._weight > MAX_CACHED_OFFERS):
            _, forgotten = self._views.popitem(last=False)
            self._weight -= forgotten.weight


def _view_inputs(catalogue: Catalogue, policy: Policy, opened: Mapping[SourceKey, ResourceVisibility]) -> ViewInputs:
    return policy.declared.denials, tuple(
        (source, type(opening), catalogue.listings[source].resources) for source, opening in opened.items()
    )


def _shelf_is_same(one: ViewInputs, other: ViewInputs) -> bool:
    """By identity of what was offered: the board keeps a listing for as long as its server says the same."""
    return (
        one[0] == other[0]
        and len(one[1]) == len(other[1])
        and all(a[:2] == b[:2] and a[2] is b[2] for a, b in zip(one[1], other[1], strict=True))
    )


MAX_CACHED_TOOLS: Final = 2_000_000
"""Summed over all views, because on a large board a few views weigh as much as a thousand on a small one."""


_MAX_ATTEMPTS: Final = 3
"""How often a view is worked out beside the loop while the board goes on changing."""


@dataclass(frozen=True, slots=True)
class Notice:
    """Something an operator should know that no tool's verdict tells: a broken file, a store that is away."""

    subject: str
    text: str
    since: datetime


@dataclass(frozen=True)
class _ListingVerdicts:
    listing: Listing
    policy: Policy
    verdicts: Mapping[ToolId, OpenTool | LockedTool]


@dataclass(frozen=True, slots=True)
class _ViewCache:
    """What one view was told last: the verdicts until the next change, the names beyond it."""

    resolution: Resolution | None
    reserved_names: Mapping[WireName, ToolId]

    @property
    def weight(self) -> int:
        return (
            len(self.reserved_names)
            if self.resolution is None
            else len(self.reserved_names) + len(self.resolution.verdicts)
        )


def keep_running(policy: Policy) -> None:
    """For a board that nothing runs for."""


@dataclass
class BoardState:
    policy: Policy = field(default_factory=Policy)
    catalogue: Catalogue = field(default_factory=Catalogue)
    changes: ChangeSignal = field(default_factory=ChangeSignal)
    notices: Mapping[str, Notice] = field(default_factory=dict[str, Notice])
    config_warnings: ConfigWarnings = field(default_factory=ConfigWarnings)
    """What the operator's file says in vain; the doctor tells it."""
    settings_locations: SettingsSource = field(default_factory=SettingsSource)
    """What it says at all, and where."""
    check_values: Callable[[Catalogue, Policy], Policy] = keep_policy
    """What becomes known of the values in a policy when it, or the catalogue, changes."""
    on_policy_change: Callable[[Policy], None] = keep_running
    """Called at once with each new policy, so that who changed it sees what follows: servers that start or stop."""
    is_closed: bool = False

    def __post_init__(self) -> None:
        self.policy = self._complete_policy(self.catalogue, self.policy)
        self._told: OrderedDict[View, _ViewCache] = OrderedDict()
        self._weight = 0
        self._latest: tuple[View, Resolution] | None = None
        """Asked for last, and so most likely next."""
        self._judged: dict[SourceKey, _ListingVerdicts] = {}
        self.revision = object()
        """Another one after each change: whoever keeps what follows from the board keeps this with it."""
        self._shelf = ResourceViewCache()
        self._memory = ApprovedToolPlaceholders()

    def publish(self, listing: Listing) -> None:
        """Take a provider's latest word in place of its former one."""
        listing = self._memory.with_placeholders(listing, self.policy)
        former = self.catalogue.listings.get(listing.source)
        if former is not None and _is_same_listing(former, listing):
            return
        others = (known for source, known in self.catalogue.listings.items() if source != listing.source)
        self._swap(build_catalogue((*others, listing)), self.policy)

    def remove(self, source: SourceKey) -> None:
        if source in self.catalogue.listings:
            rest = (known for key, known in self.catalogue.listings.items() if key != source)
            self._judged.pop(source, None)
            self._memory.forget(source)
            self._swap(build_catalogue(rest), self.policy)

    def set_policy(self, policy: Policy) -> None:
        if not is_same_policy(policy, self.policy):
            self._swap(self._memory.refresh(self.catalogue, policy), policy)
            self.on_policy_change(self.policy)

    def publish_preview(self, listing: Listing) -> None:
        """What somebody saw of a source that does not run yet: it hangs there, locked, until it lists by itself."""
        self._memory.record_preview(listing)
        if (known := self.catalogue.listings.get(listing.source)) is not None:
            self.publish(known)

    def refresh_values(self) -> bool:
        """Whether more, or less, is known now of the values in the policy: what they refer to changes by itself."""
        fresh = self._complete_policy(self.catalogue, self.policy)
        if fresh is self.policy:
            return False
        self._swap(self.catalogue, fresh)
        return True

    def add_notice(self, notice: Notice) -> None:
        """The same words again are no news: they keep the time at which they were first true."""
        known = self.notices.get(notice.subject)
        if known is None or known.text != notice.text:
            self.notices = {**self.notices, notice.subject: notice}
            self.changes.notify()

    def remove_notice(self, subject: str) -> None:
        if subject in self.notices:
            self.notices = {key: notice for key, notice in self.notices.items() if key != subject}
            self.changes.notify()

    def close(self) -> None:
        """Nothing will change any more: whoever waits for a change goes on with what there is."""
        self.is_closed = True
        self.changes.notify()

    async def wait_until_started(self, within: float) -> bool:
        """Whether every server has answered or failed once; waits for it no longer than `within` seconds."""
        with anyio.move_on_after(within), self.changes.subscribe() as bell:
            while any(is_first_start(listing.health) for listing in self.catalogue.listings.values()):
                await bell.wait()
            return True
        return False

    def current_warnings(self) -> tuple[FileProblem, ...]:
        return tuple(self.config_warnings.applicable(self.policy.toolsets, self.policy.callers, self.policy.servers))

    def resolution(self, view: View) -> Resolution:
        """The verdicts for this view: worked out once after a change, remembered until the next."""
        latest = self._latest
        if latest is not None and latest[0] is view:
            return latest[1]
        known = self._told.get(view)
        if known is not None and known.resolution is not None:
            self._told.move_to_end(view)
            self._latest = view, known.resolution
            return known.resolution
        held: Mapping[WireName, ToolId] = {} if known is None else known.reserved_names
        fresh = resolve(self.catalogue, self.policy, view, judge=self.verdicts, held=held)
        self._cache(view, _ViewCache(fresh, reserve_names(held, fresh.names_of_open_tools(), fresh.names)))
        return fresh

    async def resolve_off_loop(self, view: View) -> Resolution:
        """The same, beside the event loop where it is not known yet: on a large board that takes longer than calls may
        wait."""
        for _ in range(_MAX_ATTEMPTS):
            known, stamp = self._told.get(view), self.revision
            if known is not None and known.resolution is not None:
                break
            held: Mapping[WireName, ToolId] = {} if known is None else known.reserved_names
            work = partial(self._resolve, self.catalogue, self.policy, view, held)
            fresh = await to_thread.run_sync(work, abandon_on_cancel=True)
            # Names must be given out by the board as it is, once: whoever was quicker has done it.
            if self.revision is stamp and self._told.get(view) is known:
                self._cache(view, _ViewCache(fresh, reserve_names(held, fresh.names_of_open_tools(), fresh.names)))
        return self.resolution(view)

    def resource_view(self, view: View) -> ResourceView:
        """What this view is given beside tools. The same value for as long as nothing of it changes."""
        return self._shelf.resource_view(self.catalogue, self.policy, view)

    def _resolve(self, catalogue: Catalogue, policy: Policy, view: View, held: Mapping[WireName, ToolId]) -> Resolution:
        with pause_garbage_collection():
            return resolve(catalogue, policy, view, judge=self.verdicts, held=held)

    def _cache(self, view: View, told: _ViewCache) -> None:
        former = self._told.pop(view, None)
        self._told[view] = told
        self._weight += told.weight - (0 if former is None else former.weight)
        while len(self._told) > 1 and (len(self._told) > MAX_CACHED_VIEWS or self._weight > MAX_CACHED_TOOLS):
            _, forgotten = self._told.popitem(last=False)
            self._weight -= forgotten.weight

    def verdicts(self, listing: Listing, policy: Policy) -> Mapping[ToolId, OpenTool | LockedTool]:
        """One provider's new word costs only its own tools: the others' verdicts are still at hand."""
        known = self._judged.get(listing.source)
        if known is None or known.listing is not listing or known.policy is not policy:
            known = _ListingVerdicts(listing, policy, judge_listing(listing, policy))
            self._judged[listing.source] = known
        return known.verdicts

    def _complete_policy(self, catalogue: Catalogue, policy: Policy) -> Policy:
        """The policy with what follows from it and the catalogue together."""
        return with_suspects(catalogue, self.check_values(catalogue, policy))

    def _swap(self, catalogue: Catalogue, policy: Policy) -> None:
        self.catalogue, self.policy = catalogue, self._complete_policy(catalogue, policy)
        self.revision = object()
        self._latest = None
        for view, told in self._told.items():
            if told.resolution is not None:
                self._told[view] = _ViewCache(None, told.reserved_names)
        self._weight = sum(told.weight for told in self._told.values())
        self.changes.notify()


def is_same_policy(one: Policy, other: Policy) -> bool:
    try:
        return one == other
    except RecursionError:  # an approved schema that is nested too deeply to be compared
        return False


def _is_same_listing(former: Listing, latest: Listing) -> bool:
    """By what a model would see: to Python 1, 1.0 and True are equal, in a schema they are three things."""
    return (
        (former.health, former.problems, former.is_remembered) == (latest.health, latest.problems, latest.is_remembered)
        and len(former.tools) == len(latest.tools)
        and (former.tools is latest.tools or all(map(_is_same_tool, former.tools, latest.tools)))
        and is_same_resources(former.resources, latest.resources)
    )


def _is_same_tool(former: Tool, latest: Tool) -> bool:
    return former is latest or (
        former.id == latest.id
        and former.spec.fingerprint == latest.spec.fingerprint
        and canonical_json(former.extra) == canonical_json(latest.extra)
    )


# The wall as views see it: worked out beside the event loop once after a change, and what tools cost once at all.

_MAX_CACHED_VIEWS: Final = 8
"""Views whose wall is kept: each page of a large one is asked for by itself."""


@dataclass(frozen=True, eq=False)
class DashboardSnapshot:
    """A wall, and all that it follows from. The same one for as long as nothing changes."""

    dashboard: Dashboard
    resolution: Resolution
    catalogue: Catalogue
    policy: Policy

    @cached_property
    def visibility(self) -> VisibilityFilter:
        return build_visibility_filter(self.catalogue, self.policy, self.resolution.view)

    @cached_property
    def listing(self) -> EndpointToolList | None:
        return endpoint_tool_list(self.resolution, self.policy)


class DashboardCache:
    def __init__(self, board: BoardState) -> None:
        self._board = board
        self._snapshots: OrderedDict[View, DashboardSnapshot] = OrderedDict()
        self._costs: dict[ToolId, tuple[ToolSpec, str, str | None, int]] = {}

    async def snapshot(self, view: View) -> DashboardSnapshot:
        resolution = await self._board.resolve_off_loop(view)
        known = self._snapshots.get(view)
        if known is not None and known.resolution is resolution:
            self._snapshots.move_to_end(view)
            return known
        catalogue, policy = self._board.catalogue, self._board.policy
        hung = await to_thread.run_sync(partial(self._build, catalogue, policy, resolution))
        self._snapshots[view] = hung
        self._snapshots.move_to_end(view)
        while len(self._snapshots) > _MAX_CACHED_VIEWS:
            self._snapshots.popitem(last=False)
        return hung

    def _build(self, catalogue: Catalogue, policy: Policy, resolution: Resolution) -> DashboardSnapshot:
        with pause_garbage_collection():
            if len(self._costs) > 2 * len(catalogue.tools):
                self._costs = {id: known for id, known in self._costs.items() if id in catalogue.tools}
            return DashboardSnapshot(
                build_dashboard(catalogue, policy, resolution, partial(self._cost, policy)),
                resolution,
                catalogue,
                policy,
            )

    def _cost(self, policy: Policy, tool: Tool, name: str) -> int:
        """By what a model is told of it. Schemas are looked at once, however often something else changes."""
        written = policy.overrides.for_tool(tool.id).description_override
        known = self._costs.get(tool.id)
        if known is None or known[0] is not tool.spec or known[1:3] != (name, written):
            known = tool.spec, name, written, rough_tool_cost(spec_as_shown(tool, name, policy))
            self._costs[tool.id] = known
        return known[3]
