"""What DocSpace does in the background: waited for until it is done, fails, or takes too long."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import anyio

from .api import Api
from .asking import path
from .checking import Flag, Given, Many, Number, Shape, Text, some
from .client import Unheard
from .trouble import Trouble

OPERATION: Final = Shape(some(id=Text(), error=Text(), url=Text(), progress=Number(), finished=Flag()))
OPERATIONS: Final = Many(OPERATION)

_QUICK: Final = 20
"""Polls at a short distance, before it grows; and how often an operation may be missing before it is given up."""
_FIRST: Final = 0.1
_GROWTH: Final = 1.5
_LONGEST: Final = 5.0
_WHOLE: Final = 100.0
_TRIES: Final = 3


@dataclass(frozen=True, slots=True)
class Operation:
    id: str | None
    progress: float = 0.0
    error: str = ""
    finished: bool = False
    url: str | None = None
    polled: bool = False
    """Whether this is what a poll said of it, and not what the first answer did."""
    missing: int = 0
    """Polls in a row that did not tell of it."""

    @property
    def is_done(self) -> bool:
        return bool(self.error) or self.progress == _WHOLE or self.finished

    @property
    def is_lost(self) -> bool:
        return self.missing >= _QUICK


async def resolved(api: Api, started: Given) -> Sequence[Operation]:
    """All of them done and without an error, as the polls told of them. Raises `Trouble`."""
    operations = [_read(one) for one in (started if isinstance(started, list) else [started])]
    if not operations:
        raise Trouble("No operations to sync.")
    polls, told = 0, -1.0
    with anyio.move_on_after(api.limits.operation) as waiting:
        while True:
            operations = _after(operations, await _polled(api))
            polls += 1
            told = _tell(api, operations, told)
            if all(one.is_done or one.is_lost for one in operations):
                break
            await anyio.sleep(_FIRST if polls < _QUICK else min(_FIRST * _GROWTH ** (polls - _QUICK + 1), _LONGEST))
    if failed := [one for one in operations if one.error or not one.is_done]:
        why = [line for one in failed if (line := _why(one, api, late=waiting.cancelled_caught)) is not None]
        raise Trouble(f"{len(failed)} out of {len(operations)} operations are unresolved.", why)
    return [one for one in operations if one.polled]


def _why(one: Operation, api: Api, *, late: bool) -> str | None:
    if one.error:
        return " ".join(one.error.split())
    if one.is_lost:
        return f"DocSpace tells nothing more of operation {one.id}, which may be done. Look before you try again."
    if late:
        took = f"after {api.limits.operation:g} seconds"
        return f"Operation {one.id} is at {one.progress:g} % {took}. DocSpace goes on with it; look again later."
    return None


async def _polled(api: Api) -> Sequence[Operation]:
    for tries_left in range(_TRIES - 1, -1, -1):
        try:
            answer = await api.get(path("files", "fileops"), OPERATIONS)
        except Trouble as failed:
            # A connection that breaks once in ten minutes says nothing about the operation.
            if tries_left and _is_broken_off(failed):
                await anyio.sleep(_FIRST)
                continue
            raise Trouble("Resolving operations.", Trouble("Calling operation statuses callback.", failed)) from failed
        said = answer.response if isinstance(answer.response, list) else ()
        return [replace(_read(one), polled=True) for one in said]
    raise AssertionError("the last try returns or raises")


def _is_broken_off(failed: Trouble | None) -> bool:
    while isinstance(failed, Trouble):
        if isinstance(failed, Unheard):
            return failed.is_cut
        failed = failed.why if isinstance(failed.why, Trouble) else None
    return False


def _after(operations: Sequence[Operation], polled: Sequence[Operation]) -> list[Operation]:
    said = {one.id: one for one in polled if one.id is not None}
    # Whatever is done stays done, although DocSpace soon forgets about it.
    return [
        one
        if one.is_done and one.polled
        else (None if one.id is None else said.get(one.id)) or replace(one, missing=one.missing + 1)
        for one in operations
    ]


def _tell(api: Api, operations: Sequence[Operation], before: float) -> float:
    """How far all of them are together, unless that is no farther than was told before: progress only grows."""
    done = sum(_WHOLE if one.is_done else min(max(one.progress, 0.0), _WHOLE) for one in operations)
    now = round(done / len(operations), 2)
    if now <= before:
        return before
    if api.progress is not None:
        api.progress(now, _WHOLE, None)
    return now


def _read(one: Given) -> Operation:
    match one:
        case dict():
            id, progress, error, url = (one.get(name) for name in ("id", "progress", "error", "url"))
            return Operation(
                id if isinstance(id, str) else None,
                float(progress) if isinstance(progress, int | float) else 0.0,
                error if isinstance(error, str) else "",
                one.get("finished") is True,
                url if isinstance(url, str) else None,
            )
        case _:
            return Operation(None)
