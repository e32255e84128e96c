"""The presentation that follows the number of tools: each as itself while they are few, through search when many."""

from collections import OrderedDict
from typing import TYPE_CHECKING, Final

import anyio

from pegboard.core.presentations import Presented
from pegboard.core.presentations.choice import chosen
from pegboard.core.presentations.search import TOOLS
from pegboard.core.resolve import Resolution
from pegboard.core.tool import JsonObject
from pegboard.core.view import View
from pegboard.gateway.gateway import Gateway

from .direct import Direct
from .pages import BadCursor, Page
from .presentation import Own, Passed
from .search import Search

if TYPE_CHECKING:
    from mcp_types import CallToolRequestParams

REMEMBERED: Final = 256
INSTRUCTIONS: Final = (
    "These tools come from several servers behind one gateway. If you are shown retrieve_tools, there are many: find "
    "them with it, in a few words of what you want to do, and call what you found with call_tool. A call that is "
    "refused says why and what to do; when it tells you to ask the user, ask, and do not look for a way around it."
)


class Auto:
    """Tools come and go while clients still hold the list from before, so a call is taken by either way."""

    def __init__(self, gateway: Gateway, ready: anyio.Event | None = None) -> None:
        self._board = gateway.board
        self._direct = Direct(gateway.board)
        self._search = Search(gateway, ready)
        self._known: OrderedDict[View, tuple[Resolution, Presented]] = OrderedDict()

    @property
    def instructions(self) -> str:
        return INSTRUCTIONS

    def page(self, view: View, cursor: str | None) -> Page | BadCursor:
        return self._at(view).page(view, cursor)

    def mark(self, view: View) -> bytes:
        return self._at(view).mark(view)

    def input_schema(self, view: View, name: str) -> JsonObject | None:
        return self._by(view, name).input_schema(view, name)

    def meant(self, asked: "CallToolRequestParams", view: View) -> Passed | Own:
        return self._by(view, asked.name).meant(asked, view)

    def _at(self, view: View) -> Direct | Search:
        resolution = self._board.resolution(view)
        known = self._known.get(view)
        if known is None or known[0] is not resolution:
            known = self._known[view] = resolution, chosen(resolution, self._board.policy.declared.presenting)
            while len(self._known) > REMEMBERED:
                self._known.popitem(last=False)
        return self._search if known[1] is Presented.SEARCH else self._direct

    def _by(self, view: View, name: str) -> Direct | Search:
        """Whose call of this name it is: what is shown now goes before what was shown before."""
        at = self._at(view)
        is_known = self._board.resolution(view).called(name) is not None
        if at is self._search:
            return self._direct if is_known and name not in TOOLS else self._search
        return self._search if not is_known and name in TOOLS else self._direct
