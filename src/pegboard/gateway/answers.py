"""A model's answer read as the chat would read it, and each call in it held up to the gate. Nothing is called."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import uuid4

from pegboard.core.call import AdmittedCall, ToolCall, admit, refusal_text
from pegboard.core.code import PYTHON_ID
from pegboard.core.ids import CallId, ToolId, WireName
from pegboard.core.presentations.entries import readable_schema
from pegboard.core.prompting import SEARCH, PromptSettings
from pegboard.core.resolve import OpenTool, Resolution
from pegboard.core.ticket import TICKET_TOOL
from pegboard.core.view import View
from pegboard.prompts.building import BuiltPrompt
from pegboard.prompts.events import ParsedCall
from pegboard.prompts.formats import FORMATS, Format
from pegboard.prompts.model import Model
from pegboard.prompts.shapes import ToolShape
from pegboard.prompts.spans import OutputSpan, output_spans

from .chat.results import outcome_word
from .gateway import Gateway
from .prompting import board_prompt

RUNS: Final = "runs"
WAITS: Final = "waits"
UNFINISHED: Final = "unfinished"
_MAX_TRIED_CHARS: Final = 8_000
"""Characters of an answer that is read in every format there is."""
_MAX_NAMED: Final = 3
_NEEDS_CONFIRMATION: Final = "A person must say yes to it first."
_ANSWERED_BY_GATEWAY: Final = "It is answered by the gateway itself."
_UNFINISHED_MESSAGE: Final = (
    "Its end never came, and run_recovered_calls is off in the settings: a chat would not run it."
)


@dataclass(frozen=True)
class CallVerdict:
    """What the gate would say to a call."""

    verdict: str
    """`runs`, `waits` for a person, `unfinished`, or how it would be refused."""
    message: str = ""
    tool: ToolId | None = None


@dataclass(frozen=True)
class AnswerAnalysis:
    format: str
    spans: Sequence[OutputSpan]
    verdicts: Sequence[CallVerdict]
    """Of each span that is a call, in order."""
    policy_version: int
    other_formats: Sequence[str] = ()
    """Formats in which calls would be found, where in this one there are none; those that leave least unread first."""


async def analyze_answer(
    gateway: Gateway, view: View, model: Model, settings: PromptSettings, said: str, text: str, format: Format | None
) -> AnswerAnalysis:
    """`said` is what the user said before, by which tools were found. Without a format, the one that the model is told
    to speak."""
    made = await board_prompt(gateway, view, model, said, settings=settings)
    spoken = format or FORMATS[made.prompt.capabilities.primary or "native"]
    resolution = gateway.board.resolution(made.view)
    tools = (*made.prompt.callable, *_tools_not_in_prompt(made.prompt, resolution))
    found = output_spans(spoken, text, tools, in_thinking=model.opens_thinking)
    words = [_call_verdict(gateway, made.view, made.prompt, call, settings) for call in (s.call for s in found) if call]
    others = () if words else _formats_that_read(text, tools, in_thinking=model.opens_thinking)
    return AnswerAnalysis(spoken.name, found, words, resolution.policy_version, others)


def _formats_that_read(text: str, tools: Sequence[ToolShape], *, in_thinking: bool) -> Sequence[str]:
    if len(text) > _MAX_TRIED_CHARS:
        return ()
    fits: list[tuple[int, int, str]] = []
    for name, format in FORMATS.items():
        found = output_spans(format, text, tools, in_thinking=in_thinking)
        if calls := [span.call for span in found if span.call]:
            unread = sum(span.end - span.start for span in found if span.kind == "text")
            fits.append((unread, sum(len(call.repairs) for call in calls), name))
    return [name for _, _, name in sorted(fits)[:_MAX_NAMED]]


def _tools_not_in_prompt(prompt: BuiltPrompt, resolution: Resolution) -> Iterator[ToolShape]:
    """What is open and not in this prompt: the model may have been told of it in a turn before."""
    told = {shape.name for shape in prompt.callable}
    for id in resolution.open_ids:
        verdict, name = resolution.verdicts[id], resolution.names[id]
        if isinstance(verdict, OpenTool) and name not in told:
            yield ToolShape(name, "", readable_schema(verdict.visible_tool.spec.input_schema))


def _call_verdict(
    gateway: Gateway, view: View, prompt: BuiltPrompt, called: ParsedCall, settings: PromptSettings
) -> CallVerdict:
    resolution, id = gateway.board.resolution(view), prompt.tool(called.name)
    is_search = called.name == SEARCH and prompt.capabilities.may_search
    runs_programs = id == PYTHON_ID and PYTHON_ID not in resolution.verdicts
    if runs_programs or ((is_search or called.name == TICKET_TOOL) and called.name not in resolution.by_name):
        return CallVerdict(RUNS, _ANSWERED_BY_GATEWAY)
    name = WireName(called.name) if id is None else resolution.names.get(id, WireName(called.name))
    call = ToolCall(CallId(uuid4().hex), name, dict(called.arguments), view.principal, gateway.clock())
    caller = gateway.caller
    verdict = admit(call, resolution, caller.validators.for_call(call), fill=caller.fill)
    meant = resolution.find_tool(name)
    if not isinstance(verdict, AdmittedCall):
        return CallVerdict(outcome_word(verdict), refusal_text(verdict), meant)
    if called.recovered and not settings.run_recovered:
        return CallVerdict(UNFINISHED, _UNFINISHED_MESSAGE, meant)
    return CallVerdict(WAITS, _NEEDS_CONFIRMATION, meant) if verdict.confirm else CallVerdict(RUNS, "", meant)
