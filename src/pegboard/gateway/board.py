"""The board: holds the catalogue and the policy, swaps them whole, and remembers what it resolved for whom."""

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from pegboard.core.catalogue import Catalogue, Listing, catalogue
from pegboard.core.ids import Source, ToolId, WireName
from pegboard.core.policy import Policy
from pegboard.core.resolve import Locked, Open, Resolution, judge, resolve
from pegboard.core.view import View

from .bell import Bell

REMEMBERED_VIEWS: Final = 1024


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


@dataclass
class Board:
    policy: Policy = field(default_factory=Policy)
    catalogue: Catalogue = field(default_factory=Catalogue)
    changed: Bell = field(default_factory=Bell)
    notices: Mapping[str, Notice] = field(default_factory=dict[str, Notice])

    def __post_init__(self) -> None:
        self._resolutions: OrderedDict[View, Resolution] = OrderedDict()
        self._held: OrderedDict[View, Mapping[WireName, ToolId]] = OrderedDict()
        self._judged: dict[Source, _Judged] = {}

    def hang(self, listing: Listing) -> None:
        """Take a provider's latest word in place of its former one."""
        if self.catalogue.listings.get(listing.source) == listing:
            return
        others = (known for source, known in self.catalogue.listings.items() if source != listing.source)
        self._swap(catalogue((*others, listing)), self.policy)

    def take_down(self, source: Source) -> None:
        if source in self.catalogue.listings:
            rest = (known for key, known in self.catalogue.listings.items() if key != source)
            self._judged.pop(source, None)
            self._swap(catalogue(rest), self.policy)

    def decide(self, policy: Policy) -> None:
        if policy != self.policy:
            self._swap(self.catalogue, policy)

    def notice(self, notice: Notice) -> None:
        self.notices = {**self.notices, notice.subject: notice}
        self.changed.ring()

    def forget_notice(self, subject: str) -> None:
        if subject in self.notices:
            self.notices = {key: notice for key, notice in self.notices.items() if key != subject}
            self.changed.ring()

    def resolution(self, view: View) -> Resolution:
        """The verdicts for this view: worked out once after a change, remembered until the next."""
        known = self._resolutions.get(view)
        if known is not None:
            self._resolutions.move_to_end(view)
            return known
        fresh = resolve(self.catalogue, self.policy, view, judge=self._judge, held=self._held.get(view, {}))
        self._resolutions[view] = fresh
        self._held[view] = fresh.by_name
        self._held.move_to_end(view)
        while len(self._resolutions) > REMEMBERED_VIEWS:
            self._resolutions.popitem(last=False)
        while len(self._held) > REMEMBERED_VIEWS:
            self._held.popitem(last=False)
        return fresh

    def _judge(self, listing: Listing, policy: Policy) -> Mapping[ToolId, Open | Locked]:
        """One provider's new word costs only its own tools: the others' verdicts are still at hand."""
        known = self._judged.get(listing.source)
        if known is None or known.listing is not listing or known.policy is not policy:
            known = _Judged(listing, policy, judge(listing, policy))
            self._judged[listing.source] = known
        return known.verdicts

    def _swap(self, catalogue: Catalogue, policy: Policy) -> None:
        self.catalogue, self.policy = catalogue, policy
        self._resolutions.clear()
        self.changed.ring()
