"""Who asks, and how far they narrow what they want to see. A view can only take tools away."""

from dataclasses import dataclass, field

from .ids import LOCAL, PrincipalId
from .selection import Selection


@dataclass(frozen=True)
class View:
    """One caller's question: which tools may I use? Each narrowing runs inside what is chosen for everyone."""

    principal: PrincipalId = LOCAL
    narrowings: tuple[Selection, ...] = ()
    _hash: int = field(init=False, repr=False, compare=False)
    """Worked out once: what was resolved for a view is looked up by it at every call."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash((self.principal, self.narrowings)))

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[type["View"], tuple[PrincipalId, tuple[Selection, ...]]]:
        # Text hashes differently in another process, so the hash is left behind.
        return View, (self.principal, self.narrowings)

    def narrowed(self, by: Selection) -> "View":
        return View(self.principal, (*self.narrowings, by))
