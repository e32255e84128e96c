"""One page of the tools that a client is shown, or why there is none."""

from dataclasses import dataclass

from pegboard.core.tool import JsonObject


@dataclass(frozen=True)
class ToolPage:
    tools: tuple[JsonObject, ...]
    next: str | None


@dataclass(frozen=True)
class BadCursor:
    why: str
