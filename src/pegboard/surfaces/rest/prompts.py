"""Routes: prompts, and parsing a model's answer."""

from dataclasses import replace
from http import HTTPStatus
from itertools import islice
from typing import Annotated, Final, Literal, NotRequired, TypeAlias

from anyio import to_thread
from fastapi import APIRouter, Query
from pydantic import AfterValidator, Field
from typing_extensions import TypedDict

from pegboard.core.decision.resolve import Resolution
from pegboard.core.model.foreign_names import FORMATS, near_words
from pegboard.core.model.ids import BadId, BuiltinKey, ToolId
from pegboard.core.model.patterns import LAUNCH_MEMBERS, LaunchFilter, parse_launch_filter
from pegboard.core.model.principals import TokenScope
from pegboard.core.model.references import closest_names
from pegboard.core.model.selection import View
from pegboard.core.model.settings import MIN_BUDGET_TOKENS, KnownModel, PresentationMode, PromptSettings
from pegboard.core.presentations.code import SEARCH_HINT
from pegboard.core.presentations.costs import presentation_costs
from pegboard.core.presentations.retrieval import MAX_QUERY_CHARS
from pegboard.gateway.board import BoardState
from pegboard.gateway.prompts import BoardPrompt, PromptBuilder
from pegboard.gateway.tool_calls import ToolCalls
from pegboard.prompts.capability import CapabilityDecision
from pegboard.prompts.model import Model, model_facts
from pegboard.prompts.request import chat_request
from pegboard.prompts.system_prompt import excluded_decisions, python_example, toolset_costs
from pegboard.surfaces.rest.auth import requires_scopes
from pegboard.surfaces.rest.requests import Name, ViewQuery
from pegboard.surfaces.rest.responses import ProblemError, make_router
from pegboard.surfaces.rest.schemas import FreeObject
from pegboard.surfaces.rest.tools import checked_resolution, find_tool, is_off_board_builtin

# What the route for prompts answers. Without anything of prompts themselves, which are loaded for whoever asks.

ToolPlacement: TypeAlias = Literal["in", "callable", "deferred", "out"]


class PromptModelInfo(TypedDict):
    name: str
    billions: float | None
    toolCalling: bool
    family: str
    format: str
    thinking: bool
    maxFoundTools: int
    factSources: list[str]


class PromptDecisionInfo(TypedDict):
    subject: str
    availability: ToolPlacement
    reason: str


class PromptPartInfo(TypedDict):
    kind: str
    tokens: int
    reason: str
    inToolsArray: bool
    text: str


class OfferedToolInfo(TypedDict):
    name: str
    id: str | None
    tokens: int
    reason: str


class ToolsetCostInfo(TypedDict):
    toolset: str
    tools: int
    tokens: int


class PromptResponse(TypedDict):
    model: PromptModelInfo
    primary: str | None
    builtins: list[PromptDecisionInfo]
    formats: list[PromptDecisionInfo]
    search: list[str]
    parts: list[PromptPartInfo]
    tools: list[OfferedToolInfo]
    omitted: list[PromptDecisionInfo]
    tokens: int
    budget: int
    system: str
    request: FreeObject
    """What a model server would be sent."""
    excluded: list[PromptDecisionInfo]
    """What could be in the prompt and is not, up to so many."""
    excludedCount: int
    byToolset: list[ToolsetCostInfo]
    pythonExample: str
    formatNames: list[str]
    """Those that may be asked for, whether they are switched on or not."""
    policyVersion: int
    toolDecision: NotRequired[PromptDecisionInfo]
    """Of the tool that was asked about."""


# The route that tells what a model would be sent, and why: every decision, every part and what it costs.

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


def _find_tool(board: BoardState, name: str, view: View, resolution: Resolution) -> ToolId:
    if is_off_board_builtin(board, name, view):
        return ToolId(BuiltinKey(), name)
    return find_tool(board, name, resolution)


def prompt_routes(board: BoardState, prompt_builder: PromptBuilder) -> APIRouter:
    routes = make_router("tools")

    @routes.get("/prompt")
    async def show_prompt(asked: Annotated[PromptQuery, Query()]) -> PromptResponse:
        """What a model would be sent for a query, and why: each part with its cost, each decision with its reason."""

        view = asked.view()
        resolution = checked_resolution(board, view)
        about = None if asked.tool is None else _find_tool(board, asked.tool, view, resolution)
        return await prompt_response(board, prompt_builder, asked, view, about)

    return routes


# The answer that tells what a model would be sent. Loaded for the first who asks: it needs all there is of prompts.

MAX_STRUCK: Final = 200
"""Blocks that are not there, told one by one; of more it is said how many there are."""


async def prompt_response(
    board: BoardState, prompt_builder: PromptBuilder, asked: PromptQuery, view: View, about: ToolId | None
) -> PromptResponse:
    usual = board.policy.declared.prompts
    model = model_facts(asked.model, None, asked.known_models(usual))
    made = await prompt_builder.prompt(view, model, asked.query, settings=asked.settings(usual), launch=asked.launch())
    said = [{"role": "user", "content": asked.query}] if asked.query else []
    prompt = made.prompt
    answer: PromptResponse = {
        "model": _model_info(model),
        "primary": made.prompt.capabilities.primary,
        "builtins": [_decision_info(each) for each in made.prompt.capabilities.builtin_decisions],
        "formats": [_decision_info(each) for each in made.prompt.capabilities.format_decisions],
        "search": [str(decision) for decision in made.automatic.decisions],
        "parts": [
            {
                "kind": part.kind,
                "tokens": part.tokens,
                "reason": part.why,
                "inToolsArray": part.in_tools_array,
                "text": part.text,
            }
            for part in prompt.parts
        ],
        "tools": [
            {
                "name": each.shape.name,
                "id": None if each.id is None else str(each.id),
                "tokens": each.tokens,
                "reason": "" if each.id is None else prompt.decision(each.id).why,
            }
            for each in prompt.offered_tools
        ],
        "omitted": [_decision_info(each) for each in prompt.left_out],
        "tokens": prompt.tokens,
        "budget": prompt.budget,
        "system": prompt.system,
        "request": chat_request(made.prompt, said),
        "excluded": [_decision_info(each) for each in islice(excluded_decisions(prompt), MAX_STRUCK)],
        "excludedCount": sum(1 for _ in excluded_decisions(prompt)),
        "byToolset": [
            {"toolset": share.toolset, "tools": share.tools, "tokens": share.tokens} for share in toolset_costs(prompt)
        ],
        "pythonExample": python_example(asked.model, asked.query, prompt.capabilities.primary, asked.budget),
        "formatNames": [*FORMAT_NAMES],
        "policyVersion": prompt.capabilities.resolution.policy_version,
    }
    if about is not None:
        answer["toolDecision"] = _decision_info(_ruling_of(made, about))
    return answer


def _ruling_of(made: BoardPrompt, about: ToolId) -> CapabilityDecision:
    return made.prompt.decision(about)


def _model_info(model: Model) -> PromptModelInfo:
    return {
        "name": model.name,
        "billions": model.billions,
        "toolCalling": model.tool_calling,
        "family": model.family,
        "format": model.format,
        "thinking": model.thinking,
        "maxFoundTools": model.max_found_tools,
        "factSources": [*model.fact_sources],
    }


def _decision_info(ruling: CapabilityDecision) -> PromptDecisionInfo:
    return {"subject": ruling.subject, "availability": ruling.availability.value, "reason": ruling.why}


MAX_ANSWER_CHARS: Final = 200_000


class ParseAnswerBody(ViewQuery):
    """`format` is a format's name or any other name that it is known by, `any` for whatever is found in the text."""

    text: Annotated[str, Field(max_length=MAX_ANSWER_CHARS)]
    model: Annotated[str, Field(min_length=1, max_length=256)] = "unknown"
    format: Annotated[str, Field(min_length=1, max_length=64)] | None = None
    query: Annotated[str, Field(max_length=MAX_QUERY_CHARS, description="What the user said before.")] = ""


class AnswerSpanInfo(TypedDict):
    kind: str
    start: int
    end: int
    call: int | None
    reason: str


class AdmissionInfo(TypedDict):
    verdict: str
    message: str


class ParsedCallInfo(TypedDict):
    name: str
    tool: str | None
    arguments: dict[str, object]
    start: int
    end: int
    repairs: list[str]
    recovered: bool
    admission: AdmissionInfo


class BrokenSpanInfo(TypedDict):
    start: int
    end: int
    reason: str


class ParseAnswerResponse(TypedDict):
    format: str
    spans: list[AnswerSpanInfo]
    calls: list[ParsedCallInfo]
    broken: list[BrokenSpanInfo]
    otherFormats: list[str]
    policyVersion: int


def answer_parsing_routes(board: BoardState, tool_calls: ToolCalls, prompt_builder: PromptBuilder) -> APIRouter:
    routes = make_router("prompts")

    @routes.post("/prompt/parse")
    @requires_scopes(TokenScope.READ)
    async def parse_answer(body: ParseAnswerBody) -> ParseAnswerResponse:
        """What is read in a model's answer: its text in spans of characters, the calls with what had to be repaired,
        what broke and why, and of each call what the gate would say now; where there is none, the formats in
        which there would be some. Nothing is called."""
        # Only here, because it loads all there is of prompts.
        from pegboard.gateway.chat.chat import analyze_answer
        from pegboard.prompts.formats import FORMATS, find_format
        from pegboard.prompts.model import model_facts

        view = body.view()
        checked_resolution(board, view)
        format = None if body.format is None else find_format(body.format)
        if body.format is not None and format is None:
            near = closest_names(body.format, FORMATS)
            meant = f" Did you mean {near[0]!r}?" if near else ""
            told = f"There is no format {body.format!r}.{meant} There are: {', '.join(sorted(FORMATS))}."
            raise ProblemError(HTTPStatus.UNPROCESSABLE_ENTITY, told)
        settings = board.policy.declared.prompts
        model = model_facts(body.model, None, settings.models)
        found = await analyze_answer(prompt_builder, tool_calls, view, model, settings, body.query, body.text, format)
        calls: list[ParsedCallInfo] = []
        spans: list[AnswerSpanInfo] = []
        broken: list[BrokenSpanInfo] = []
        for span in found.spans:
            number = None if span.call is None else len(calls)
            spans.append({"kind": span.kind, "start": span.start, "end": span.end, "call": number, "reason": span.why})
            if span.kind == "broken":
                broken.append({"start": span.start, "end": span.end, "reason": span.why})
            if span.call is not None:
                word = found.verdicts[len(calls)]
                calls.append(
                    {
                        "name": span.call.name,
                        "tool": None if word.tool is None else str(word.tool),
                        "arguments": {**span.call.arguments},
                        "start": span.start,
                        "end": span.end,
                        "repairs": [*span.call.repairs],
                        "recovered": span.call.recovered,
                        "admission": {"verdict": word.verdict, "message": word.message},
                    }
                )
        return {
            "format": found.format,
            "spans": spans,
            "calls": calls,
            "broken": broken,
            "otherFormats": [*found.other_formats],
            "policyVersion": found.policy_version,
        }

    return routes


# The route for presentations: what each shows in a view, and what that costs a model.


class PresentationInfo(TypedDict):
    name: PresentationMode
    path: str
    tools: int
    tokens: int
    """Estimated, and the same on every machine."""


class PresentationsResponse(TypedDict):
    chosen: PresentationMode
    threshold: int
    presentations: list[PresentationInfo]


def presentation_routes(board: BoardState, tool_calls: ToolCalls) -> APIRouter:
    routes = make_router("tools")

    @routes.get("/presentations")
    async def list_presentations(asked: Annotated[ViewQuery, Query()]) -> PresentationsResponse:
        """How tools can be shown to this view: how many a model would be shown, and for how many tokens."""
        resolution, policy = checked_resolution(board, asked.view()), board.policy
        presenting = policy.declared.presentation
        counted = await to_thread.run_sync(presentation_costs, resolution, policy, tool_calls.program_tool(SEARCH_HINT))
        return {
            "chosen": presenting.presentation,
            "threshold": presenting.threshold,
            "presentations": [
                {
                    "name": cost.presentation,
                    "path": f"/mcp/{cost.presentation.value}",
                    "tools": cost.tools,
                    "tokens": cost.tokens,
                }
                for cost in counted
            ],
        }

    return routes
