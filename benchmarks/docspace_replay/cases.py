"""A recorded call beside ours, and the results that follow from recorded answers alone."""

import json
from dataclasses import dataclass, replace
from typing import Any, Final

from .comparing import Did, Expected
from .recordings import Recording, Request, Response, Result

DONE: Final = {
    "delete_file": "File deleted.",
    "delete_folder": "Folder deleted.",
    "copy_batch_items": "Batch items copied.",
    "move_batch_items": "Batch items moved.",
    "archive_room": "Room archived.",
}
"""What the tools say that begin an operation, once it has ended."""
OMITTED: Final = "invalid_type: Invalid input: expected object, received undefined"
OPERATIONS: Final = "/api/2.0/files/fileops"


@dataclass(frozen=True)
class Case:
    """A recorded call, and what ours did."""

    recording: Recording
    did: Did

    @property
    def tool(self) -> str:
        """The tool of DocSpace that it is about: by itself, or through call_tool."""
        given = self.recording.arguments
        through = self.recording.tool == "call_tool" and isinstance(given, dict) and isinstance(given.get("tool"), str)
        return str(given["tool"]) if through else self.recording.tool

    @property
    def arguments(self) -> Any:
        """That tool's own. None where they were left out."""
        given = self.recording.arguments
        return given.get("input") if self.tool != self.recording.tool else given

    @property
    def text(self) -> str:
        return "" if self.did.result is None else "\n".join(self.did.result.texts)

    @property
    def failed_as_recorded(self) -> bool:
        """Both are errors. What they say may differ."""
        recorded, ours = self.recording.result, self.did.result
        return recorded is not None and ours is not None and recorded.is_error and ours.is_error

    @property
    def answers(self) -> list[Response]:
        return [each for each in self.recording.responses if isinstance(each, Response)]

    @property
    def further(self) -> tuple[Request, ...]:
        """Requests of ours beyond as many as were recorded."""
        return self.did.requests[len(self.recording.requests) :]


def told(expected: Expected) -> str:
    return "" if expected.result is None else "\n".join(expected.result.texts)


def saying(expected: Expected, text: str, *, is_error: bool = True) -> Expected:
    return replace(expected, result=Result((text,), None, is_error))


def as_ours(case: Case, expected: Expected) -> Expected:
    """The result is whatever ours is: only for what was looked at already."""
    return replace(expected, result=case.did.result)


def pretty(body: Any) -> str:
    return json.dumps(body, indent=2, ensure_ascii=False)


def read(text: str) -> Any:
    """None for what is not JSON."""
    try:
        return json.loads(text)
    except ValueError:
        return None


def polls(request: Request) -> bool:
    return request.method == "GET" and request.path.endswith(OPERATIONS)
