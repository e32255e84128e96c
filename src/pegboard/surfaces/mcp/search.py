"""The search presentation over the protocol: tools that find others instead of all. None approves, enables or widens
anything."""

from functools import partial

import anyio
from anyio import to_thread

from pegboard.core.call import Arguments, BadArguments, Returned
from pegboard.core.presentations import Presented
from pegboard.core.presentations.own import CALL
from pegboard.core.presentations.search import DESCRIBE, INSTRUCTIONS, RETRIEVE, TOOLS, described
from pegboard.core.retrieval import BLANK, FEW, Detail, Retrieval
from pegboard.core.tool import Tool
from pegboard.core.upstream import upstream_servers
from pegboard.core.view import View
from pegboard.gateway.gateway import Gateway

from .presentation import Own, Passed
from .wrapping import Wrapping, returned


class Search(Wrapping):
    schemas_by = DESCRIBE

    def __init__(self, gateway: Gateway, ready: anyio.Event | None = None) -> None:
        super().__init__(gateway, Presented.SEARCH.value, TOOLS, RETRIEVE, ready)

    @property
    def instructions(self) -> str:
        return INSTRUCTIONS

    def _own(self, tool: Tool, arguments: Arguments, view: View) -> Passed | Own:
        match tool.id.name:
            case name if name == RETRIEVE:
                if not str(arguments["query"]).strip():
                    return self.refused(BadArguments(tool.id, (f"query: {BLANK}",)), tool.id)
                return self.answering(tool, partial(self._found, _retrieval(arguments), view))
            case name if name == DESCRIBE:
                names = arguments["names"]
                assert isinstance(names, list)
                return self.answering(tool, partial(self._described, tuple(map(str, names)), view))
            case name if name == CALL:
                given = arguments.get("arguments", {})
                assert isinstance(given, dict)
                return self.passed(str(arguments["name"]), given, view)
            case _:
                return self.answering(tool, partial(self._servers, view))

    async def _found(self, asked: Retrieval, view: View) -> Returned:
        await self.settled()
        return returned(await self._gateway.finder.retrieve(asked, view))

    async def _described(self, names: tuple[str, ...], view: View) -> Returned:
        await self.settled()
        board = self._gateway.board
        return returned(described(names, board.resolution(view), board.policy))

    async def _servers(self, view: View) -> Returned:
        board = self._gateway.board
        resolution = await board.worked_out(view)
        # Beside the loop, because on a large board counting takes longer than calls may wait.
        counted = partial(upstream_servers, board.catalogue, board.policy, resolution)
        return returned(await to_thread.run_sync(counted, abandon_on_cancel=True))


def _retrieval(arguments: Arguments) -> Retrieval:
    """An integer may have been written as 5.0."""
    query, limit = arguments["query"], arguments.get("limit", FEW)
    assert isinstance(query, str)
    assert isinstance(limit, int | float)

    def says(name: str) -> bool:
        return arguments.get(name) is True

    return Retrieval(
        query,
        int(limit),
        include_disabled=says("include_disabled"),
        read_only_only=says("read_only_only"),
        exclude_destructive=says("exclude_destructive"),
        exclude_open_world=says("exclude_open_world"),
        server=str(arguments.get("server", "")),
        toolset=str(arguments.get("toolset", "")),
        explain=says("explain"),
        detail=Detail(str(arguments.get("detail", Detail.COMPACT))),
    )
