"""What the tool `python_execution` answers: one object, as structured content and as the same in text."""

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from pegboard.core.call import Returned, ToolFailed
from pegboard.core.reference import closest
from pegboard.core.tool import Json, JsonObject
from pegboard.ports.sandbox import Complaint, Fault, Ran

from .made import Made

_UNDEFINED: Final = re.compile(r"The name `(\w+)` is not defined\.")
NOTHING_RAN = "Nothing of it has run. Correct it, and run it again."


def answer(ran: Ran, made: Mapping[int, Made], note: str = "") -> Returned | ToolFailed:
    """A program that ends in an error is a tool that failed: whoever wrote it reads why."""
    said: JsonObject = {
        "result": ran.result,
        "stdout": ran.stdout,
        "truncated": ran.truncated,
        "tool_calls": [made[ordinal].told() for ordinal in sorted(made)],
        "error": None if ran.error is None else _error(ran.error),
    }
    if note:
        said["note"] = note
    body: dict[str, Json] = {
        "content": [{"type": "text", "text": json.dumps(said, ensure_ascii=False, separators=(",", ":"))}],
        "structuredContent": said,
    }
    if ran.error is None:
        return Returned(json.dumps(body).encode())
    return ToolFailed(json.dumps({**body, "isError": True}).encode())


def failed(
    type: str, message: str, made: Mapping[int, Made] | None = None, note: str = "", stdout: str = ""
) -> Returned | ToolFailed:
    return answer(Ran(stdout=stdout, error=Fault(type, message)), made or {}, note)


def complained(
    complaints: Sequence[Complaint], missing: Sequence[str], modules: Collection[str], note: str = ""
) -> Returned | ToolFailed:
    """What the type check found, line by line. It was told only of the `modules` that the program uses rightly."""
    worded = [(each.line, _worded(each.message, missing, modules)) for each in complaints]
    lines = [f"line {line}: {message}" for line, message in worded if message]
    text = "\n".join((*lines, *missing, NOTHING_RAN))
    return answer(Ran(error=Fault("TypeCheckError", text, complaints[0].line)), {}, note)


def _worded(message: str, missing: Sequence[str], modules: Collection[str]) -> str:
    """Nothing where it is told better elsewhere."""
    found = _UNDEFINED.fullmatch(message)
    if found is None:
        return message
    name = found[1]
    if name not in modules:
        near = closest(name, tuple(modules))
        return f"{message} Did you mean {' or '.join(f'`{each}`' for each in near)}?" if near else message
    if any(words.startswith(f"{name} has no function") for words in missing):
        return ""
    return f"`{name}` has none of the functions that the program names."


def helped(ran: Ran, missing: Iterable[str]) -> Ran:
    """With what it may have meant, where it fell over a name that is not there."""
    words = tuple(missing)
    if ran.error is None or not words or ran.error.type not in ("AttributeError", "NameError", "ImportError"):
        return ran
    fault = Fault(ran.error.type, "\n".join((ran.error.message, *words)), ran.error.line, ran.error.is_lacking)
    return Ran(ran.result, ran.stdout, ran.truncated, fault)


def _error(fault: Fault) -> JsonObject:
    return {"type": fault.type, "message": fault.message, "line": fault.line}
