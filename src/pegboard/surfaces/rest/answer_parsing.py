"""The route that reads a model's answer: the calls in it, where it broke, and what the gate would say to each call."""

from http import HTTPStatus
from typing import Annotated, Final

from fastapi import APIRouter
from pydantic import Field
from typing_extensions import TypedDict

from pegboard.core.reference import closest_names
from pegboard.core.retrieval import MAX_QUERY_CHARS
from pegboard.core.scope import TokenScope
from pegboard.gateway.gateway import Gateway

from .access import requires_scopes
from .answers import make_router
from .bodies import ViewQuery
from .problems import ProblemError
from .tools import checked_resolution

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
    why: str


class AdmissionInfo(TypedDict):
    word: str
    said: str


class ParsedCallInfo(TypedDict):
    name: str
    tool: str | None
    arguments: dict[str, object]
    start: int
    end: int
    repairs: list[str]
    recovered: bool
    gate: AdmissionInfo


class BrokenSpanInfo(TypedDict):
    start: int
    end: int
    why: str


class ParseAnswerResponse(TypedDict):
    format: str
    spans: list[AnswerSpanInfo]
    calls: list[ParsedCallInfo]
    broken: list[BrokenSpanInfo]
    otherFormats: list[str]
    policyVersion: int


def answer_parsing_routes(gateway: Gateway) -> APIRouter:
    routes = make_router("prompts")

    @routes.post("/prompt/parse")
    @requires_scopes(TokenScope.READ)
    async def parse_answer(body: ParseAnswerBody) -> ParseAnswerResponse:
        """What is read in a model's answer: its text in spans of characters, the calls with what had to be repaired,
        what broke and why, and of each call what the gate would say now; where there is none, the formats in
        which there would be some. Nothing is called."""
        # Only here, because it loads all there is of prompts.
        from pegboard.gateway.answers import analyze_answer
        from pegboard.prompts.formats import FORMATS, find_format
        from pegboard.prompts.model import model_facts

        view = body.view()
        checked_resolution(gateway, view)
        format = None if body.format is None else find_format(body.format)
        if body.format is not None and format is None:
            near = closest_names(body.format, FORMATS)
            meant = f" Did you mean {near[0]!r}?" if near else ""
            told = f"There is no format {body.format!r}.{meant} There are: {', '.join(sorted(FORMATS))}."
            raise ProblemError(HTTPStatus.UNPROCESSABLE_ENTITY, told)
        settings = gateway.board.policy.declared.prompts
        model = model_facts(body.model, None, settings.models)
        found = await analyze_answer(gateway, view, model, settings, body.query, body.text, format)
        calls: list[ParsedCallInfo] = []
        spans: list[AnswerSpanInfo] = []
        broken: list[BrokenSpanInfo] = []
        for span in found.spans:
            number = None if span.call is None else len(calls)
            spans.append({"kind": span.kind, "start": span.start, "end": span.end, "call": number, "why": span.why})
            if span.kind == "broken":
                broken.append({"start": span.start, "end": span.end, "why": span.why})
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
                        "gate": {"word": word.verdict, "said": word.message},
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
