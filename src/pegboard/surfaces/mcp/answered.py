"""What a request is answered with, past the SDK's models: they would drop what they do not know."""

from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final

from pegboard.core.tool import JsonObject


@dataclass
class ActualResult:
    result: JsonObject | None = None


ACTUAL_RESULT: Final[ContextVar[ActualResult]] = ContextVar("answer")
"""Set around each request. Whoever serves it puts the real answer here, and gives the SDK an empty one to check."""
