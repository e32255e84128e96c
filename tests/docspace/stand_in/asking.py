"""One request to the API, read: whose world it is, which ids its path names, its query and its body."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from .world import World, Wrong


@dataclass(frozen=True)
class Ask:
    world: World
    base: str
    """Where the API is, as the caller wrote it: with a slash at its end."""
    ids: Sequence[str]
    query: Sequence[tuple[str, str]]
    body: Any

    def id(self, place: int = 0) -> int | None:
        """None for what is no number of ours: nothing has such an id."""
        return as_id(self.ids[place])

    def one(self, name: str) -> str | None:
        return next((value for key, value in self.query if key == name), None)

    def many(self, name: str) -> list[str]:
        return [value for key, value in self.query if key == name]

    def number(self, name: str, default: int) -> int:
        text = self.one(name)
        try:
            return default if text is None else int(float(text))
        except ValueError:
            raise Wrong(400, f"The value {text!r} is not valid for {name}") from None

    def text(self, name: str) -> str:
        value = self.body.get(name) if isinstance(self.body, dict) else None
        if not isinstance(value, str):
            raise Wrong(400, f"The {name} field is required")
        return value

    def ids_of(self, name: str) -> list[int]:
        given = self.body.get(name) if isinstance(self.body, dict) else None
        found = [as_id(str(each)) for each in given or []]
        return [each for each in found if each is not None]


@dataclass(frozen=True)
class Page:
    """A list of which this is a part."""

    response: list[Any]
    total: int


Reply: TypeAlias = Any
Route: TypeAlias = tuple[str, re.Pattern[str], Callable[[Ask], Reply]]


def route(method: str, path: str, answer: Callable[[Ask], Reply]) -> Route:
    return method, re.compile(path.replace("{}", "([^/]+)") + r"\Z"), answer


def as_id(text: str) -> int | None:
    return int(text) if text.isdecimal() else None


def paged(ask: Ask, entries: list[Any]) -> list[Any]:
    start = max(ask.number("startIndex", 0), 0)
    return entries[start : start + ask.number("count", 30)]
