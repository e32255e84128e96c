"""The route that reads a model's answer: the calls in it, where it broke, and what the gate would say to each call."""

from http import HTTPStatus
from typing import Annotated, Final

from fastapi import APIRouter
from pydantic import Field
from typing_extensions import TypedDict

from pegboard.core.reference import closest
from pegboard.core.retrieval import LONGEST_QUERY
from pegboard.core.scope import Scope
from pegboard.gateway.gateway import Gateway

from .access import needs
from .answers import routes_about
from .bodies import ViewQuery
from .problems import Problem
from .tools import resolution_of

LONGEST: Final = 200_000


class ParseBody(ViewQuery):
    """`format` is a format's name or any other name that it is known by, `any` for whatever is found in the text."""

    text: Annotated[str, Field(max_length=LONGEST)]
    model: Annotated[str, Field(min_length=1, max_length=256)] = "unknown"
    format: Annotated[str, Field(min_length=1, max_length=64)] | None = None
    query: Annotated[str, Field(max_length=LONGEST_QUERY, description="What the user said before.")] = ""


class SpanShape(TypedDict):
    kind: str
    start: int
    end: int
    call: int | None
    why: str


class GateWord(TypedDict):
    word: str
    said: str


class ParsedCall(TypedDict):
    name: str
    tool: str | None
    arguments: dict[str, object]
    start: int
    end: int
    repairs: list[str]
    recovered: bool
    gate: GateWord


class BrokenPiece(TypedDict):
    start: int
    end: int
    why: str


class ParsedAnswer(TypedDict):
    format: str
    spans: list[SpanShape]
    calls: list[ParsedCall]
    broken: list[BrokenPiece]
    otherFormats: list[str]
    policyVersion: int


def answer_parsing_routes(gateway: Gateway) -> APIRouter:
    routes = routes_about("prompts")

    @routes.post("/prompt/parse")
    @needs(Scope.READ)
    async def parse_answer(body: ParseBody) -> ParsedAnswer:
        """What is read in a model's answer: its text in spans of characters, the calls with what had to be repaired,
        what broke and why, and of each call what the gate would say now; where there is none, the formats in
        which there would be some. Nothing is called."""
        # Only here, because it loads all there is of prompts.
        from pegboard.gateway.answers import read
        from pegboard.prompts.formats import FORMATS, named
        from pegboard.prompts.model import model_facts

        view = body.view()
        resolution_of(gateway, view)
        format = None if body.format is None else named(body.format)
        if body.format is not None and format is None:
            near = closest(body.format, FORMATS)
            meant = f" Did you mean {near[0]!r}?" if near else ""
            told = f"There is no format {body.format!r}.{meant} There are: {', '.join(sorted(FORMATS))}."
            raise Problem(HTTPStatus.UNPROCESSABLE_ENTITY, told)
        settings = gateway.board.policy.declared.prompting
        model = model_facts(body.model, None, settings.models)
        found = await read(gateway, view, model, settings, body.query, body.text, format)
        calls: list[ParsedCall] = []
        spans: list[SpanShape] = []
        broken: list[BrokenPiece] = []
        for span in found.spans:
            number = None if span.call is None else len(calls)
            spans.append({"kind": span.kind, "start": span.start, "end": span.end, "call": number, "why": span.why})
            if span.kind == "broken":
                broken.append({"start": span.start, "end": span.end, "why": span.why})
            if span.call is not None:
                word = found.words[len(calls)]
                calls.append(
                    {
                        "name": span.call.name,
                        "tool": None if word.tool is None else str(word.tool),
                        "arguments": {**span.call.arguments},
                        "start": span.start,
                        "end": span.end,
                        "repairs": [*span.call.repairs],
                        "recovered": span.call.recovered,
                        "gate": {"word": word.word, "said": word.said},
                    }
                )
        return {
            "format": found.format,
            "spans": spans,
            "calls": calls,
            "broken": broken,
            "otherFormats": [*found.others],
            "policyVersion": found.policy_version,
        }

    return routes
