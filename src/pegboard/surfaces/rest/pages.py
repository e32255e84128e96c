"""Lists in pages: so many entries after one that is named, and the one to name for those that follow."""

from collections.abc import Callable, Sequence
from http import HTTPStatus
from typing import Annotated, Final, NotRequired, TypeVar

from fastapi import Query
from pydantic import Field
from typing_extensions import TypedDict

from .problems import ProblemError

MAX_PAGE_SIZE: Final = 20_000
"""Entries of a page. Few boards have more, so whoever does not ask for pages gets all there is in one."""

T = TypeVar("T")


class PageResponse(TypedDict):
    """Part of an answer in pages. Whoever got all there is reads nothing of it."""

    next: NotRequired[str]
    """There where more entries follow: what to send as `after` for them."""


_LIMIT_DESCRIPTION: Final = "Entries of the page."
_AFTER_DESCRIPTION: Final = "The `next` of the page before."

LimitField = Annotated[int, Field(ge=1, le=MAX_PAGE_SIZE, description=_LIMIT_DESCRIPTION)]
AfterField = Annotated[str | None, Field(max_length=2048, description=_AFTER_DESCRIPTION)]
"""The same two where a model has all parameters of a route."""

LimitParam = Annotated[int, Query(ge=1, le=MAX_PAGE_SIZE, description=_LIMIT_DESCRIPTION)]
AfterParam = Annotated[str | None, Query(max_length=2048, description=_AFTER_DESCRIPTION)]


def paginate(
    entries: Sequence[T], name: Callable[[T], str], limit: int, after: str | None
) -> tuple[Sequence[T], PageResponse]:
    """Raises `Problem` where the entry has gone after which to go on: what was shown is not what there is now."""
    start = 0
    if after is not None:
        found = next((place for place, entry in enumerate(entries) if name(entry) == after), None)
        if found is None:
            told = f"after {after[:200]!r} is not in this list now. Ask for it from the beginning."
            raise ProblemError(HTTPStatus.CONFLICT, told)
        start = found + 1
    page = entries[start : start + limit]
    return page, {"next": name(page[-1])} if page and start + limit < len(entries) else {}
