"""The route that tells what a model would be sent, and why: every decision, every part and what it costs."""

from dataclasses import replace
from http import HTTPStatus
from typing import Annotated, Final

from fastapi import APIRouter, Query
from pydantic import AfterValidator, Field

from pegboard.core.foreign_names import FORMATS, near_words
from pegboard.core.ids import BadId, BuiltinKey, ToolId
from pegboard.core.launch import MEMBERS, LaunchFilter, launch_filter
from pegboard.core.prompting import LEAST_BUDGET, KnownModel, Prompting
from pegboard.core.resolve import Resolution
from pegboard.core.retrieval import LONGEST_QUERY
from pegboard.core.view import View
from pegboard.gateway.gateway import Gateway

from .answers import routes_about
from .bodies import Name, ViewQuery
from .builtins import is_off_board_builtin
from .problems import Problem
from .prompt_shapes import PromptShape
from .tools import resolution_of, tool_named

FORMAT_NAMES: Final = tuple(dict.fromkeys(FORMATS.values()))


def _known(name: str) -> str:
    if (known := FORMATS.get(name)) is not None:
        return known
    near = near_words(name, FORMATS)
    hint = f". Did you mean {' or '.join(map(repr, near))}?" if near else ""
    raise ValueError(f"this must be one of {', '.join(FORMAT_NAMES)}{hint}")


class PromptQuery(ViewQuery):
    """Lists that are given and empty allow nothing; absent ones allow all."""

    model: Annotated[str, Field(min_length=1, max_length=256)]
    query: Annotated[str, Field(max_length=LONGEST_QUERY)] = ""
    format: Annotated[str, AfterValidator(_known)] | None = None
    budget: Annotated[int, Field(ge=LEAST_BUDGET, le=1_000_000)] | None = None
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
        read = launch_filter({name: _said(getattr(self, name)) for name in MEMBERS})
        if isinstance(read, BadId):
            raise Problem(HTTPStatus.UNPROCESSABLE_ENTITY, f"{read.why}.")
        return read

    def settings(self, usual: Prompting) -> Prompting:
        chosen = usual if self.budget is None else replace(usual, budget=self.budget)
        if self.format is None:
            return chosen
        return replace(chosen, primary=self.format, formats=(self.format, *chosen.formats))

    def known(self, usual: Prompting) -> tuple[KnownModel, ...]:
        if self.billions is None and self.tool_calling is None:
            return usual.models
        return (KnownModel("*", self.billions, self.tool_calling), *usual.models)


def _said(texts: list[str] | None) -> list[str] | None:
    """A parameter that is given and empty says that the list is: a URL has no other way to write that."""
    return None if texts is None else [text for text in texts if text]


def _about(gateway: Gateway, name: str, view: View, resolution: Resolution) -> ToolId:
    if is_off_board_builtin(gateway, name, view):
        return ToolId(BuiltinKey(), name)
    return tool_named(gateway, name, resolution)


def prompt_routes(gateway: Gateway) -> APIRouter:
    routes = routes_about("tools")

    @routes.get("/prompt")
    async def show_prompt(asked: Annotated[PromptQuery, Query()]) -> PromptShape:
        """What a model would be sent for a query, and why: each part with its cost, each decision with its reason."""
        from .prompting import told

        view = asked.view()
        resolution = resolution_of(gateway, view)
        about = None if asked.tool is None else _about(gateway, asked.tool, view, resolution)
        return await told(gateway, asked, view, about)

    return routes
