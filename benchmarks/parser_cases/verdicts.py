"""What came of one record, and the reason of a miss as far as a rule can tell it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.parser_cases.cases import Case
from benchmarks.parser_cases.judging import same
from pegboard.prompts.events import ParsedCall
from pegboard.prompts.scanner import ParsedOutput

WORDS = {"True": "true", "False": "false", "None": "null"}


@dataclass(frozen=True)
class Verdict:
    case: Case
    aside: str | None
    calls: bool
    streamed: bool
    """The calls again, read in the recorded chunks or in random ones."""
    text: bool
    thinking: bool
    broke: str | None
    """The invariant that did not hold."""
    got: ParsedOutput


def met(calls: Sequence[ParsedCall], expected: object) -> bool:
    """Whether they are the recorded ones. A recovered call runs only where the settings say so, and records disagree on
    what they should say: it may be among them or not."""
    settings = calls, [call for call in calls if not call.recovered]
    return any(same([(call.name, call.arguments) for call in chosen], expected) for chosen in settings)


def why(verdict: Verdict) -> str:
    case, got, expected = verdict.case, verdict.got, verdict.case.expected.calls
    if verdict.broke:
        return f"an invariant does not hold: {verdict.broke}"
    if got.broken_calls and "ended inside" in got.broken_calls[-1].why:
        return "the record runs a call that was cut off, which is never called"
    if any(not isinstance(arguments, dict) for _, arguments in expected):
        return "the record has arguments that are no object"
    if any(name not in case.text for name, _ in expected):
        return "the record names a tool that the output does not name, and names are never guessed"
    known = {tool.name for tool in case.tools}
    if known and same([(call.name, call.arguments) for call in got.calls if call.name in known], expected):
        return "the record leaves out the call of an unknown tool; we tell it, and whoever makes calls refuses it"
    if not got.calls and not got.broken_calls and case.text.lstrip()[:1] in ("[", "{"):
        return "JSON without a marker counts for known tools alone"
    if got.broken_calls and not expected:
        return "the record takes it for text, we tell that it is a broken call"
    if not expected:
        return "the record refuses this call, we read it"
    if same(_as_text([(call.name, call.arguments) for call in got.calls]), _as_text(expected)):
        return "the record keeps text where we read a value, or the other way round; no schema says which"
    if len(got.calls) > len(expected):
        return "the record stops after fewer calls than the output has"
    if len(got.calls) == len(expected):
        return "the record has other arguments than the output"
    return "the record mends a call that we tell as broken"


def _as_text(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _as_text(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_as_text(inner) for inner in value]
    return WORDS.get(str(value), str(value))
