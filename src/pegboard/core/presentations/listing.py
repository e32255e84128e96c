"""Which tools are listed as themselves where a client connects that does not say otherwise, and how it reaches the
others."""

from collections.abc import Mapping, Set
from dataclasses import dataclass
from typing import Final

from pegboard.core.ids import ToolId
from pegboard.core.policy import Policy
from pegboard.core.prompting import PYTHON
from pegboard.core.resolve import OpenTool, Resolution

from .choice import choose_presentation
from .costs import PRESENTATION_TOOLS
from .kept import pinned_tools
from .presenting import PresentationMode

_HOW_TO_REACH: Final[Mapping[PresentationMode, str]] = {
    PresentationMode.META: "by which they look through the toolsets and call what they find",
    PresentationMode.SEARCH: "by which they find and call all others",
    PresentationMode.DEFERRED: "by which they find all others, each of which is listed once it was found",
    PresentationMode.CODE: "by which they find all others and call them from programs",
}


@dataclass(frozen=True)
class EndpointToolList:
    """At /mcp, for one view; there is none where each tool is listed as itself."""

    own_tool_count: int
    """The presentation's own tools."""
    pinned: Set[ToolId]
    """Those that stay listed, open or locked."""
    open_pinned_count: int
    how: str
    setting: str
    where: str = "/mcp"

    @property
    def sentence(self) -> str:
        return f"Clients at /mcp are shown {self._own_tools_text}. /mcp/direct lists each open tool as itself."

    @property
    def unlisted_sentence(self) -> str:
        """About one that is not listed."""
        return f"Not listed at /mcp: clients there are shown {self._own_tools_text}. /mcp/direct lists it as itself."

    def describe_step(self, id: ToolId) -> str:
        if id in self.pinned:
            return "yes: always_visible names it"
        return f"no: clients there are shown {self._own_tools_text}; /mcp/direct lists each open tool as itself"

    def leaves_out(self, id: ToolId) -> bool:
        return id not in self.pinned

    @property
    def _own_tools_text(self) -> str:
        beside = f", and {self.open_pinned_count} of always_visible" if self.open_pinned_count else ""
        return f"{self.own_tool_count} tools {self.how}{beside} ({self.setting})"


def endpoint_tool_list(
    resolution: Resolution, policy: Policy, asked: PresentationMode | None = None
) -> EndpointToolList | None:
    """At /mcp as the operator chose, or at the path of the presentation that is `asked` about."""
    presenting = policy.declared.presentation
    presented = presenting.presentation if asked is None else asked
    setting = f"presentation: {presented}"
    if presented is PresentationMode.AUTO:
        presented = choose_presentation(resolution, presenting)
        setting += f", of more than {presenting.threshold} tools"
    if presented is PresentationMode.DIRECT:
        return None
    own = {*PRESENTATION_TOOLS[presented], *((PYTHON,) if presented is PresentationMode.CODE else ())}
    beside = frozenset(pinned_tools(resolution, presenting, own).values())
    opened = sum(1 for id in beside if isinstance(resolution.verdicts[id], OpenTool))
    where = "/mcp" if asked is None else f"/mcp/{presented.value}"
    return EndpointToolList(len(own), beside, opened, _HOW_TO_REACH[presented], setting, where)
