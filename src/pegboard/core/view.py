"""Who asks, and how far they narrow what they want to see. A view can only take tools away."""

from dataclasses import dataclass
from functools import cached_property

from .ids import LOCAL_PRINCIPAL, PrincipalId
from .launch import LaunchFilter
from .selection import Selection


@dataclass(frozen=True)
class View:
    """One caller's question: which tools may I use? Each narrowing runs inside what is chosen for everyone."""

    principal: PrincipalId = LOCAL_PRINCIPAL
    narrowings: tuple[Selection, ...] = ()
    filters: tuple[LaunchFilter, ...] = ()
    """What was said at the launch of whoever asks: by pattern, so that what fits nothing is no error."""

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        """Worked out once: what was resolved for a view is looked up by it at every call."""
        return hash((self.principal, self.narrowings, self.filters))

    def __reduce__(self) -> tuple[type["View"], tuple[PrincipalId, tuple[Selection, ...], tuple[LaunchFilter, ...]]]:
        # Text hashes differently in another process, so the hash is left behind.
        return View, (self.principal, self.narrowings, self.filters)

    def narrow(self, by: Selection) -> "View":
        return View(self.principal, (*self.narrowings, by), self.filters)

    def with_filter(self, by: LaunchFilter) -> "View":
        return View(self.principal, self.narrowings, (*self.filters, by)) if by.is_limited else self
