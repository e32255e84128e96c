"""The route that tells what a model would be sent, and why: every decision, every part and what it costs."""

from dataclasses import replace
from http import HTTPStatus
from typing import Annotated, Final

from fastapi import APIRouter, Query
from pydantic import AfterValidator, Field

from pegboard.core.foreign_names import FORMATS, near_words
from pegboard.core.ids import BadId, BuiltinKey, ToolId
from pegboard.core.launch import LAUNCH_MEMBERS, LaunchFilter, parse_launch_filter
from pegboard.core.prompting import MIN_BUDGET_TOKENS, KnownModel, PromptSettings
from pegboard.core.resolve import Resolution
from pegboard.core.retrieval import MAX_QUERY_CHARS
from pegboard.core.view import View
from pegboard.gateway.gateway import Gateway

from .answers import make_router
from .bodies import Name, ViewQuery
from .builtins import is_off_board_builtin
from .problems import ProblemError
from .prompt_shapes import PromptResponse
from .tools import checked_resolution, find_tool

FORMAT_NAMES: Final = tuple(dict.fromkeys(FORMATS.values()))


def _check_format(name: str) -> str:
    if (known := FORMATS.get(name)) is not None:
        return known
    near = near_words(name, FORMATS)
    hint = f". Did you mean {' or '.join(map(repr, near))}?" if near else ""
    raise ValueError(f"this must be one of {', '.join(FORMAT_NAMES)}{hint}")


class PromptQuery(ViewQuery):
    """Lists that are given and empty allow nothing; absent ones allow all."""

    model: Annotated[str, Field(min_length=1, max_length=256)]
    query: Annotated[str, Field(max_length=MAX_QUERY_CHARS)] = ""
    format: Annotated[str, AfterValidator(_check_format)] | None = None
    budget: Annotated[int, Field(ge=MIN_BUDGET_TOKENS, le=1_000_000)] | None = None
    billions: Annotated[float, Field(gt=0, lt=100_000)] | None = None
    tool_calling: bool | None = None
    tool: Name | None = None
    allow_builtins: list[str] | None = None
    allow_servers: list[str] | None = None
    allow_tools: list[str] | None = None
    deny_builtins: list[str] = Field(default_factory=list)
    deny_servers: list[str] = Field(default_factory=list)
    deny_tools: list[str] = Field(default_factory=list)

    def launch(self) -> LaunchFilter:
        read = parse_launch_filter({name: _without_empty(getattr(self, name)) for name in LAUNCH_MEMBERS})
        if isinstance(read, BadId):
            raise ProblemError(HTTPStatus.UNPROCESSABLE_ENTITY, f"{read.why}.")
        return read

    def settings(self, usual: PromptSettings) -> PromptSettings:
        chosen = usual if self.budget is None else replace(usual, budget=self.budget)
        if self.format is None:
            return chosen
        return replace(chosen, primary=self.format, formats=(self.format, *chosen.formats))

    def known_models(self, usual: PromptSettings) -> tuple[KnownModel, ...]:
        if self.billions is None and self.tool_calling is None:
            return usual.models
        return (KnownModel("*", self.billions, self.tool_calling), *usual.models)


def _without_empty(texts: list[str] | None) -> list[str] | None:
    """A parameter that is given and empty says that the list is: a URL has no other way to write that."""
    return None if texts is None else [text for text in texts if text]


def _find_tool(gateway: Gateway, name: str, view: View, resolution: Resolution) -> ToolId:
    if is_off_board_builtin(gateway, name, view):
        return ToolId(BuiltinKey(), name)
    return find_tool(gateway, name, resolution)


def prompt_routes(gateway: Gateway) -> APIRouter:
    routes = make_router("tools")

    @routes.get("/prompt")
    async def show_prompt(asked: Annotated[PromptQuery, Query()]) -> PromptResponse:
        """What a model would be sent for a query, and why: each part with its cost, each decision with its reason."""
        from .prompting import prompt_response

        view = asked.view()
        resolution = checked_resolution(gateway, view)
        about = None if asked.tool is None else _find_tool(gateway, asked.tool, view, resolution)
        return await prompt_response(gateway, asked, view, about)

    return routes
