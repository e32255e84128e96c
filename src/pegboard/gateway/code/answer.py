"""What the tool `python_execution` answers: one object, as structured content and as the same in text."""

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from pegboard.core.call import Returned, ToolFailed
from pegboard.core.reference import closest
from pegboard.core.tool import Json, JsonObject
from pegboard.ports.sandbox import Complaint, Fault, Ran

from .made import Made
from .unmade import told

_UNDEFINED: Final = re.compile(r"The name `(\w+)` is not defined\.")
_NO_NAME: Final = re.compile(r"name '(\w+)' is not defined")
_NO_FUNCTION: Final = re.compile(r"`(\w+)` has no function `(\w+)`\.")
NOTHING_RAN = "Nothing of it has run. Correct it, and run it again."


def answer(ran: Ran, made: Mapping[int, Made], note: str = "") -> Returned | ToolFailed:
    """A program that ends in an error is a tool that failed: whoever wrote it reads why."""
    ran, note = told(ran, made, note)
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
    """What the type check found, line by line. It was told only of what the program names."""
    told: list[str] = []
    left = dict.fromkeys(missing)
    for each in complaints:
        better = next((words for words in missing if _is_same(each.message, words)), None)
        if better is not None:
            left.pop(better, None)
        told.append(f"line {each.line}: {better or _worded(each.message, modules)}")
    text = "\n".join((*dict.fromkeys(told), *left, NOTHING_RAN))
    return answer(Ran(error=Fault("TypeCheckError", text, complaints[0].line)), {}, note)


def _is_same(message: str, words: str) -> bool:
    """Whether the words tell the same, by one who knows what else there is."""
    if (found := _NO_FUNCTION.match(message)) is not None:
        return words.startswith(f"{found[1]} has no function {found[2]!r}.")
    found = _UNDEFINED.match(message)
    return found is not None and words.startswith(f"{found[1]} has no function")


def _worded(message: str, modules: Collection[str]) -> str:
    found = _UNDEFINED.fullmatch(message)
    if found is None:
        return message
    near = closest(found[1], tuple(modules))
    return f"{message} Did you mean {' or '.join(f'`{each}`' for each in near)}?" if near else message


def helped(ran: Ran, missing: Iterable[str], modules: Collection[str] = ()) -> Ran:
    """With what it may have meant, where it fell over a name that is not there."""
    if ran.error is None or ran.error.type not in ("AttributeError", "NameError", "ImportError"):
        return ran
    words = tuple(missing)
    found = _NO_NAME.match(ran.error.message)
    if found is not None and (near := closest(found[1], tuple(modules))):
        words = (f"Did you mean {' or '.join(near)}?", *words)
    if not words:
        return ran
    fault = Fault(ran.error.type, "\n".join((ran.error.message, *words)), ran.error.line, ran.error.is_lacking)
    return replace(ran, error=fault)


def _error(fault: Fault) -> JsonObject:
    return {"type": fault.type, "message": fault.message, "line": fault.line}
