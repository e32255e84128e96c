"""The presentation that follows the number of tools: each as itself while they are few, through search when many."""

from collections import OrderedDict
from typing import TYPE_CHECKING, Final

import anyio

from pegboard.core.presentations import PresentationMode
from pegboard.core.presentations.choice import choose_presentation
from pegboard.core.presentations.search import TOOLS
from pegboard.core.resolve import Resolution
from pegboard.core.tool import JsonObject
from pegboard.core.view import View
from pegboard.gateway.gateway import Gateway

from .direct import DirectPresentation
from .pages import BadCursor, ToolPage
from .presentation import BoardCall, OwnCall
from .search import SearchPresentation

if TYPE_CHECKING:
    from mcp_types import CallToolRequestParams

MAX_CACHED_VIEWS: Final = 256
INSTRUCTIONS: Final = (
    "These tools come from several servers behind one gateway. If you are shown retrieve_tools, there are many: find "
    "them with it, in a few words of what you want to do, and call what you found with call_tool. A call that is "
    "refused says why and what to do; when it tells you to ask the user, ask, and do not look for a way around it."
)


class AutoPresentation:
    """Tools come and go while clients still hold the list from before, so a call is taken by either way."""

    def __init__(self, gateway: Gateway, ready: anyio.Event | None = None) -> None:
        self._board = gateway.board
        self._direct = DirectPresentation(gateway.board)
        self._search = SearchPresentation(gateway, ready)
        self._cache: OrderedDict[View, tuple[Resolution, PresentationMode]] = OrderedDict()

    @property
    def instructions(self) -> str:
        return INSTRUCTIONS

    def page(self, view: View, cursor: str | None) -> ToolPage | BadCursor:
        return self._current_presentation(view).page(view, cursor)

    def fingerprint(self, view: View) -> bytes:
        return self._current_presentation(view).fingerprint(view)

    def input_schema(self, view: View, name: str) -> JsonObject | None:
        return self._presentation_for_tool(view, name).input_schema(view, name)

    def resolve_call(self, asked: "CallToolRequestParams", view: View) -> BoardCall | OwnCall:
        return self._presentation_for_tool(view, asked.name).resolve_call(asked, view)

    def _current_presentation(self, view: View) -> DirectPresentation | SearchPresentation:
        resolution = self._board.resolution(view)
        known = self._cache.get(view)
        if known is None or known[0] is not resolution:
            known = self._cache[view] = (
                resolution,
                choose_presentation(resolution, self._board.policy.declared.presentation),
            )
            while len(self._cache) > MAX_CACHED_VIEWS:
                self._cache.popitem(last=False)
        return self._search if known[1] is PresentationMode.SEARCH else self._direct

    def _presentation_for_tool(self, view: View, name: str) -> DirectPresentation | SearchPresentation:
        """Whose call of this name it is: what is shown now goes before what was shown before."""
        at = self._current_presentation(view)
        is_known = self._board.resolution(view).find_tool(name) is not None
        if at is self._search:
            return self._direct if is_known and name not in TOOLS else self._search
        return self._search if not is_known and name in TOOLS else self._direct
