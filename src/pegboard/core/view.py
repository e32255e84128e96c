"""Who asks, and how far they narrow what they want to see. A view can only take tools away."""

from dataclasses import dataclass

from .ids import LOCAL, PrincipalId
from .selection import Selection


@dataclass(frozen=True)
class View:
    """One caller's question: which tools may I use? Each narrowing runs inside what is chosen for everyone."""

    principal: PrincipalId = LOCAL
    narrowings: tuple[Selection, ...] = ()

    def narrowed(self, by: Selection) -> "View":
        return View(self.principal, (*self.narrowings, by))
