"""The board: holds the catalogue and the policy, swaps them whole, and remembers what it resolved for whom."""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Final

from anyio import to_thread

from pegboard.config.problem import ConfigWarnings, FileProblem
from pegboard.config.written import SettingsSource
from pegboard.core.catalogue import Catalogue, Listing, build_catalogue
from pegboard.core.ids import SourceKey, ToolId, WireName
from pegboard.core.offer import is_same_resources
from pegboard.core.offers import ResourceView
from pegboard.core.policy import Policy
from pegboard.core.resolve import LockedTool, OpenTool, Resolution, judge_listing, resolve
from pegboard.core.tool import Tool, canonical_json
from pegboard.core.unknown_names import with_suspects
from pegboard.core.view import View
from pegboard.memory import pause_garbage_collection

from .bell import ChangeSignal
from .fitting import keep_policy
from .held import reserve_names
from .remembered import ApprovedToolPlaceholders
from .shelf import ResourceViewCache

MAX_CACHED_VIEWS: Final = 1024
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
    is_closed: bool = False

    def __post_init__(self) -> None:
        self.policy = self._complete_policy(self.catalogue, self.policy)
        self._told: OrderedDict[View, _ViewCache] = OrderedDict()
        self._weight = 0
        self._latest: tuple[View, Resolution] | None = None
        """Asked for last, and so most likely next."""
        self._judged: dict[SourceKey, _ListingVerdicts] = {}
        self._stamp = object()
        self._shelf = ResourceViewCache()
        self._memory = ApprovedToolPlaceholders()

    @property
    def revision(self) -> object:
        """Another one after each change: whoever keeps what follows from the board keeps this with it."""
        return self._stamp

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
            known, stamp = self._told.get(view), self._stamp
            if known is not None and known.resolution is not None:
                break
            held: Mapping[WireName, ToolId] = {} if known is None else known.reserved_names
            work = partial(self._resolve, self.catalogue, self.policy, view, held)
            fresh = await to_thread.run_sync(work, abandon_on_cancel=True)
            # Names must be given out by the board as it is, once: whoever was quicker has done it.
            if self._stamp is stamp and self._told.get(view) is known:
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
        self._stamp = object()
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
