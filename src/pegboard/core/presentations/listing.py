"""Which tools are listed as themselves where a client connects that does not say otherwise, and how it reaches the
others."""

from collections.abc import Mapping, Set
from dataclasses import dataclass
from typing import Final

from pegboard.core.ids import ToolId
from pegboard.core.policy import Policy
from pegboard.core.prompting import PYTHON
from pegboard.core.resolve import Open, Resolution

from .choice import chosen
from .costs import OWN
from .kept import kept
from .presenting import Presented

_HOW: Final[Mapping[Presented, str]] = {
    Presented.META: "by which they look through the toolsets and call what they find",
    Presented.SEARCH: "by which they find and call all others",
    Presented.DEFERRED: "by which they find all others, each of which is listed once it was found",
    Presented.CODE: "by which they find all others and call them from programs",
}


@dataclass(frozen=True)
class Listing:
    """At /mcp, for one view; there is none where each tool is listed as itself."""

    own: int
    """The presentation's own tools."""
    beside: Set[ToolId]
    """Those that stay listed, open or locked."""
    open_beside: int
    how: str
    setting: str
    where: str = "/mcp"

    @property
    def sentence(self) -> str:
        return f"Clients at /mcp are shown {self._instead}. /mcp/direct lists each open tool as itself."

    @property
    def of_tool(self) -> str:
        """About one that is not listed."""
        return f"Not listed at /mcp: clients there are shown {self._instead}. /mcp/direct lists it as itself."

    def step(self, id: ToolId) -> str:
        if id in self.beside:
            return "yes: always_visible names it"
        return f"no: clients there are shown {self._instead}; /mcp/direct lists each open tool as itself"

    def leaves_out(self, id: ToolId) -> bool:
        return id not in self.beside

    @property
    def _instead(self) -> str:
        beside = f", and {self.open_beside} of always_visible" if self.open_beside else ""
        return f"{self.own} tools {self.how}{beside} ({self.setting})"


def listing(resolution: Resolution, policy: Policy, asked: Presented | None = None) -> Listing | None:
    """At /mcp as the operator chose, or at the path of the presentation that is `asked` about."""
    presenting = policy.declared.presenting
    presented = presenting.presentation if asked is None else asked
    setting = f"presentation: {presented}"
    if presented is Presented.AUTO:
        presented = chosen(resolution, presenting)
        setting += f", of more than {presenting.threshold} tools"
    if presented is Presented.DIRECT:
        return None
    own = {*OWN[presented], *((PYTHON,) if presented is Presented.CODE else ())}
    beside = frozenset(kept(resolution, presenting, own).values())
    opened = sum(1 for id in beside if isinstance(resolution.verdicts[id], Open))
    where = "/mcp" if asked is None else f"/mcp/{presented.value}"
    return Listing(len(own), beside, opened, _HOW[presented], setting, where)
