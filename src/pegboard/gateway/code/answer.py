"""What the tool `python_execution` answers: one object, as structured content and as the same in text."""

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from pegboard.core.call import ToolFailure, ToolSuccess
from pegboard.core.reference import closest_names
from pegboard.core.tool import Json, JsonObject
from pegboard.ports.sandbox import ProgramFailure, ProgramProblem, RunResult

from .made import CallSummary
from .unmade import with_unawaited_calls

_UNDEFINED_IN_CHECK: Final = re.compile(r"The name `(\w+)` is not defined\.")
_UNDEFINED_IN_RUN: Final = re.compile(r"name '(\w+)' is not defined")
_NO_FUNCTION: Final = re.compile(r"`(\w+)` has no function `(\w+)`\.")
NOTHING_RAN = "Nothing of it has run. Correct it, and run it again."


def program_answer(ran: RunResult, made: Mapping[int, CallSummary], note: str = "") -> ToolSuccess | ToolFailure:
    """A program that ends in an error is a tool that failed: whoever wrote it reads why."""
    ran, note = with_unawaited_calls(ran, made, note)
    said: JsonObject = {
        "result": ran.result,
        "stdout": ran.stdout,
        "truncated": ran.truncated,
        "tool_calls": [made[ordinal].to_json() for ordinal in sorted(made)],
        "error": None if ran.error is None else _error_object(ran.error),
    }
    if note:
        said["note"] = note
    body: dict[str, Json] = {
        "content": [{"type": "text", "text": json.dumps(said, ensure_ascii=False, separators=(",", ":"))}],
        "structuredContent": said,
    }
    if ran.error is None:
        return ToolSuccess(json.dumps(body).encode())
    return ToolFailure(json.dumps({**body, "isError": True}).encode())


def program_failure(
    type: str, message: str, made: Mapping[int, CallSummary] | None = None, note: str = "", stdout: str = ""
) -> ToolSuccess | ToolFailure:
    return program_answer(RunResult(stdout=stdout, error=ProgramFailure(type, message)), made or {}, note)


def check_failure(
    complaints: Sequence[ProgramProblem], missing: Sequence[str], modules: Collection[str], note: str = ""
) -> ToolSuccess | ToolFailure:
    """What the type check found, line by line. It was told only of what the program names."""
    told: list[str] = []
    left = dict.fromkeys(missing)
    for each in complaints:
        better = next((words for words in missing if _says_the_same(each.message, words)), None)
        if better is not None:
            left.pop(better, None)
        told.append(f"line {each.line}: {better or _problem_text(each.message, modules)}")
    text = "\n".join((*dict.fromkeys(told), *left, NOTHING_RAN))
    return program_answer(RunResult(error=ProgramFailure("TypeCheckError", text, complaints[0].line)), {}, note)


def _says_the_same(message: str, words: str) -> bool:
    """Whether the words tell the same, by one who knows what else there is."""
    if (found := _NO_FUNCTION.match(message)) is not None:
        return words.startswith(f"{found[1]} has no function {found[2]!r}.")
    found = _UNDEFINED_IN_CHECK.match(message)
    return found is not None and words.startswith(f"{found[1]} has no function")


def _problem_text(message: str, modules: Collection[str]) -> str:
    found = _UNDEFINED_IN_CHECK.fullmatch(message)
    if found is None:
        return message
    near = closest_names(found[1], tuple(modules))
    return f"{message} Did you mean {' or '.join(f'`{each}`' for each in near)}?" if near else message


def with_suggestions(ran: RunResult, missing: Iterable[str], modules: Collection[str] = ()) -> RunResult:
    """With what it may have meant, where it fell over a name that is not there."""
    if ran.error is None or ran.error.type not in ("AttributeError", "NameError", "ImportError"):
        return ran
    words = tuple(missing)
    found = _UNDEFINED_IN_RUN.match(ran.error.message)
    if found is not None and (near := closest_names(found[1], tuple(modules))):
        words = (f"Did you mean {' or '.join(near)}?", *words)
    if not words:
        return ran
    fault = ProgramFailure(
        ran.error.type, "\n".join((ran.error.message, *words)), ran.error.line, ran.error.is_unsupported
    )
    return replace(ran, error=fault)


def _error_object(fault: ProgramFailure) -> JsonObject:
    return {"type": fault.type, "message": fault.message, "line": fault.line}
