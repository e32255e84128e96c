"""The board: holds the catalogue and the policy, swaps them whole, and remembers what it resolved for whom."""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Final

from anyio import to_thread

from pegboard.config.problem import Problem, Remarks
from pegboard.config.written import Written
from pegboard.core.catalogue import Catalogue, Listing, catalogue
from pegboard.core.ids import Source, ToolId, WireName
from pegboard.core.offer import same_offers
from pegboard.core.offers import Offered
from pegboard.core.policy import Policy
from pegboard.core.resolve import Locked, Open, Resolution, judge, resolve
from pegboard.core.tool import Tool, canonical
from pegboard.core.unknown_names import with_suspects
from pegboard.core.view import View
from pegboard.memory import undisturbed

from .bell import Bell
from .fitting import unchanged
from .held import held_names
from .remembered import Memory
from .shelf import Shelf

REMEMBERED_VIEWS: Final = 1024
REMEMBERED_TOOLS: Final = 2_000_000
"""Summed over all views, because on a large board a few views weigh as much as a thousand on a small one."""


_TRIES: Final = 3
"""How often a view is worked out beside the loop while the board goes on changing."""


@dataclass(frozen=True, slots=True)
class Notice:
    """Something an operator should know that no tool's verdict tells: a broken file, a store that is away."""

    subject: str
    text: str
    since: datetime


@dataclass(frozen=True)
class _Judged:
    listing: Listing
    policy: Policy
    verdicts: Mapping[ToolId, Open | Locked]


@dataclass(frozen=True, slots=True)
class _Told:
    """What one view was told last: the verdicts until the next change, the names beyond it."""

    resolution: Resolution | None
    held: Mapping[WireName, ToolId]

    @property
    def weight(self) -> int:
        return len(self.held) if self.resolution is None else len(self.held) + len(self.resolution.verdicts)


@dataclass
class Board:
    policy: Policy = field(default_factory=Policy)
    catalogue: Catalogue = field(default_factory=Catalogue)
    changed: Bell = field(default_factory=Bell)
    notices: Mapping[str, Notice] = field(default_factory=dict[str, Notice])
    remarks: Remarks = field(default_factory=Remarks)
    """What the operator's file says in vain; the doctor tells it."""
    written: Written = field(default_factory=Written)
    """What it says at all, and where."""
    fitting: Callable[[Catalogue, Policy], Policy] = unchanged
    """What becomes known of the values in a policy when it, or the catalogue, changes."""
    is_closed: bool = False

    def __post_init__(self) -> None:
        self.policy = self._fitted(self.catalogue, self.policy)
        self._told: OrderedDict[View, _Told] = OrderedDict()
        self._weight = 0
        self._latest: tuple[View, Resolution] | None = None
        """Asked for last, and so most likely next."""
        self._judged: dict[Source, _Judged] = {}
        self._stamp = object()
        self._shelf = Shelf()
        self._memory = Memory()

    @property
    def stamp(self) -> object:
        """Another one after each change: whoever keeps what follows from the board keeps this with it."""
        return self._stamp

    def hang(self, listing: Listing) -> None:
        """Take a provider's latest word in place of its former one."""
        listing = self._memory.completed(listing, self.policy)
        former = self.catalogue.listings.get(listing.source)
        if former is not None and _same(former, listing):
            return
        others = (known for source, known in self.catalogue.listings.items() if source != listing.source)
        self._swap(catalogue((*others, listing)), self.policy)

    def take_down(self, source: Source) -> None:
        if source in self.catalogue.listings:
            rest = (known for key, known in self.catalogue.listings.items() if key != source)
            self._judged.pop(source, None)
            self._memory.forget(source)
            self._swap(catalogue(rest), self.policy)

    def decide(self, policy: Policy) -> None:
        if not same_policy(policy, self.policy):
            self._swap(self._memory.revised(self.catalogue, policy), policy)

    def hang_aside(self, listing: Listing) -> None:
        """What somebody saw of a source that does not run yet: it hangs there, locked, until it lists by itself."""
        self._memory.look(listing)
        if (known := self.catalogue.listings.get(listing.source)) is not None:
            self.hang(known)

    def look_again(self) -> bool:
        """Whether more, or less, is known now of the values in the policy: what they refer to changes by itself."""
        fresh = self._fitted(self.catalogue, self.policy)
        if fresh is self.policy:
            return False
        self._swap(self.catalogue, fresh)
        return True

    def notice(self, notice: Notice) -> None:
        """The same words again are no news: they keep the time at which they were first true."""
        known = self.notices.get(notice.subject)
        if known is None or known.text != notice.text:
            self.notices = {**self.notices, notice.subject: notice}
            self.changed.ring()

    def forget_notice(self, subject: str) -> None:
        if subject in self.notices:
            self.notices = {key: notice for key, notice in self.notices.items() if key != subject}
            self.changed.ring()

    def close(self) -> None:
        """Nothing will change any more: whoever waits for a change goes on with what there is."""
        self.is_closed = True
        self.changed.ring()

    def standing_remarks(self) -> tuple[Problem, ...]:
        return tuple(self.remarks.told(self.policy.toolsets, self.policy.callers, self.policy.servers))

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
        held: Mapping[WireName, ToolId] = {} if known is None else known.held
        fresh = resolve(self.catalogue, self.policy, view, judge=self.judged, held=held)
        self._remember(view, _Told(fresh, held_names(held, fresh.open_names(), fresh.names)))
        return fresh

    async def worked_out(self, view: View) -> Resolution:
        """The same, beside the event loop where it is not known yet: on a large board that takes longer than calls may
        wait."""
        for _ in range(_TRIES):
            known, stamp = self._told.get(view), self._stamp
            if known is not None and known.resolution is not None:
                break
            held: Mapping[WireName, ToolId] = {} if known is None else known.held
            work = partial(self._resolved, self.catalogue, self.policy, view, held)
            fresh = await to_thread.run_sync(work, abandon_on_cancel=True)
            # Names must be given out by the board as it is, once: whoever was quicker has done it.
            if self._stamp is stamp and self._told.get(view) is known:
                self._remember(view, _Told(fresh, held_names(held, fresh.open_names(), fresh.names)))
        return self.resolution(view)

    def offered(self, view: View) -> Offered:
        """What this view is given beside tools. The same value for as long as nothing of it changes."""
        return self._shelf.offered(self.catalogue, self.policy, view)

    def _resolved(
        self, catalogue: Catalogue, policy: Policy, view: View, held: Mapping[WireName, ToolId]
    ) -> Resolution:
        with undisturbed():
            return resolve(catalogue, policy, view, judge=self.judged, held=held)

    def _remember(self, view: View, told: _Told) -> None:
        former = self._told.pop(view, None)
        self._told[view] = told
        self._weight += told.weight - (0 if former is None else former.weight)
        while len(self._told) > 1 and (len(self._told) > REMEMBERED_VIEWS or self._weight > REMEMBERED_TOOLS):
            _, forgotten = self._told.popitem(last=False)
            self._weight -= forgotten.weight

    def judged(self, listing: Listing, policy: Policy) -> Mapping[ToolId, Open | Locked]:
        """One provider's new word costs only its own tools: the others' verdicts are still at hand."""
        known = self._judged.get(listing.source)
        if known is None or known.listing is not listing or known.policy is not policy:
            known = _Judged(listing, policy, judge(listing, policy))
            self._judged[listing.source] = known
        return known.verdicts

    def _fitted(self, catalogue: Catalogue, policy: Policy) -> Policy:
        """The policy with what follows from it and the catalogue together."""
        return with_suspects(catalogue, self.fitting(catalogue, policy))

    def _swap(self, catalogue: Catalogue, policy: Policy) -> None:
        self.catalogue, self.policy = catalogue, self._fitted(catalogue, policy)
        self._stamp = object()
        self._latest = None
        for view, told in self._told.items():
            if told.resolution is not None:
                self._told[view] = _Told(None, told.held)
        self._weight = sum(told.weight for told in self._told.values())
        self.changed.ring()


def same_policy(one: Policy, other: Policy) -> bool:
    try:
        return one == other
    except RecursionError:  # an approved schema that is nested too deeply to be compared
        return False


def _same(former: Listing, latest: Listing) -> bool:
    """By what a model would see: to Python 1, 1.0 and True are equal, in a schema they are three things."""
    return (
        (former.health, former.flaws, former.remembered) == (latest.health, latest.flaws, latest.remembered)
        and len(former.tools) == len(latest.tools)
        and (former.tools is latest.tools or all(map(_same_tool, former.tools, latest.tools)))
        and same_offers(former.offers, latest.offers)
    )


def _same_tool(former: Tool, latest: Tool) -> bool:
    return former is latest or (
        former.id == latest.id
        and former.spec.fingerprint == latest.spec.fingerprint
        and canonical(former.extra) == canonical(latest.extra)
    )
