"""The calls that a program has made, as its answer tells them."""

from dataclasses import dataclass
from typing import Final

from pegboard.core.tool import Json, JsonObject

MAX_ERROR_LENGTH: Final = 300
"""Characters of an error in the list of calls: the program itself got all of it."""


@dataclass(frozen=True, slots=True)
class CallSummary:
    name: str
    ms: int
    error: str = ""

    def to_json(self) -> JsonObject:
        said: dict[str, Json] = {"name": self.name, "ok": not self.error, "ms": self.ms}
        if self.error:
            said["error"] = self.error
        return said


def shorten(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MAX_ERROR_LENGTH else f"{line[:MAX_ERROR_LENGTH]}…"
