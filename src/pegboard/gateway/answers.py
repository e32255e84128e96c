"""A model's answer read as the chat would read it, and each call in it held up to the gate. Nothing is called."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import uuid4

from pegboard.core.call import Admitted, Call, admit, refusal_text
from pegboard.core.code import PYTHON_ID
from pegboard.core.ids import CallId, ToolId, WireName
from pegboard.core.presentations.entries import readable
from pegboard.core.prompting import SEARCH, Prompting
from pegboard.core.resolve import Open, Resolution
from pegboard.core.ticket import TICKET_TOOL
from pegboard.core.view import View
from pegboard.prompts.building import Prompt
from pegboard.prompts.events import Called
from pegboard.prompts.formats import FORMATS, Format
from pegboard.prompts.model import Model
from pegboard.prompts.shapes import ToolShape
from pegboard.prompts.spans import Span, spans

from .chat.results import word
from .gateway import Gateway
from .prompting import prompted

RUNS: Final = "runs"
WAITS: Final = "waits"
UNFINISHED: Final = "unfinished"
_LONGEST_TRIED: Final = 8_000
"""Characters of an answer that is read in every format there is."""
_MOST_NAMED: Final = 3
_ASKS: Final = "A person must say yes to it first."
_OURS: Final = "It is answered by the gateway itself."
_UNFINISHED: Final = "Its end never came, and run_recovered_calls is off in the settings: a chat would not run it."


@dataclass(frozen=True)
class Word:
    """What the gate would say to a call."""

    word: str
    """`runs`, `waits` for a person, `unfinished`, or how it would be refused."""
    said: str = ""
    tool: ToolId | None = None


@dataclass(frozen=True)
class Read:
    format: str
    spans: Sequence[Span]
    words: Sequence[Word]
    """Of each span that is a call, in order."""
    policy_version: int
    others: Sequence[str] = ()
    """Formats in which calls would be found, where in this one there are none; those that leave least unread first."""


async def read(
    gateway: Gateway, view: View, model: Model, settings: Prompting, said: str, text: str, format: Format | None
) -> Read:
    """`said` is what the user said before, by which tools were found. Without a format, the one that the model is told
    to speak."""
    made = await prompted(gateway, view, model, said, settings=settings)
    spoken = format or FORMATS[made.prompt.capabilities.primary or "native"]
    resolution = gateway.board.resolution(made.view)
    tools = (*made.prompt.callable, *_others(made.prompt, resolution))
    found = spans(spoken, text, tools, in_thinking=model.opens_thinking)
    words = [_word(gateway, made.view, made.prompt, call, settings) for call in (s.call for s in found) if call]
    others = () if words else _formats_that_read(text, tools, in_thinking=model.opens_thinking)
    return Read(spoken.name, found, words, resolution.policy_version, others)


def _formats_that_read(text: str, tools: Sequence[ToolShape], *, in_thinking: bool) -> Sequence[str]:
    if len(text) > _LONGEST_TRIED:
        return ()
    fits: list[tuple[int, int, str]] = []
    for name, format in FORMATS.items():
        found = spans(format, text, tools, in_thinking=in_thinking)
        if calls := [span.call for span in found if span.call]:
            unread = sum(span.end - span.start for span in found if span.kind == "text")
            fits.append((unread, sum(len(call.repairs) for call in calls), name))
    return [name for _, _, name in sorted(fits)[:_MOST_NAMED]]


def _others(prompt: Prompt, resolution: Resolution) -> Iterator[ToolShape]:
    """What is open and not in this prompt: the model may have been told of it in a turn before."""
    told = {shape.name for shape in prompt.callable}
    for id in resolution.open_ids:
        verdict, name = resolution.verdicts[id], resolution.names[id]
        if isinstance(verdict, Open) and name not in told:
            yield ToolShape(name, "", readable(verdict.shown.spec.input_schema))


def _word(gateway: Gateway, view: View, prompt: Prompt, called: Called, settings: Prompting) -> Word:
    resolution, id = gateway.board.resolution(view), prompt.tool(called.name)
    is_search = called.name == SEARCH and prompt.capabilities.may_search
    runs_programs = id == PYTHON_ID and PYTHON_ID not in resolution.verdicts
    if runs_programs or ((is_search or called.name == TICKET_TOOL) and called.name not in resolution.by_name):
        return Word(RUNS, _OURS)
    name = WireName(called.name) if id is None else resolution.names.get(id, WireName(called.name))
    call = Call(CallId(uuid4().hex), name, dict(called.arguments), view.principal, gateway.clock())
    caller = gateway.caller
    verdict = admit(call, resolution, caller.validators.of(call), fill=caller.fill)
    meant = resolution.called(name)
    if not isinstance(verdict, Admitted):
        return Word(word(verdict), refusal_text(verdict), meant)
    if called.recovered and not settings.run_recovered:
        return Word(UNFINISHED, _UNFINISHED, meant)
    return Word(WAITS, _ASKS, meant) if verdict.confirm else Word(RUNS, "", meant)
