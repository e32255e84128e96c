"""Background operations of DocSpace: waits until one is done, fails or takes too long."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import anyio

from pegboard.providers.docspace.api import DocSpaceApi, api_path
from pegboard.providers.docspace.client import DocSpaceRequestError
from pegboard.providers.docspace.limits import DocSpaceError
from pegboard.providers.docspace.validation import (
    BooleanType,
    JsonOrUndefined,
    ListType,
    NumberType,
    ObjectType,
    TextType,
    optional_members,
)

OPERATION: Final = ObjectType(
    optional_members(id=TextType(), error=TextType(), url=TextType(), progress=NumberType(), finished=BooleanType())
)
OPERATIONS: Final = ListType(OPERATION)

_MAX_QUICK_POLLS: Final = 20
"""Polls at a short distance, before it grows; and how often an operation may be missing before it is given up."""
_FIRST_POLL_INTERVAL_S: Final = 0.1
_INTERVAL_GROWTH: Final = 1.5
_MAX_POLL_INTERVAL_S: Final = 5.0
_COMPLETE_PERCENT: Final = 100.0
_MAX_POLL_TRIES: Final = 3


@dataclass(frozen=True, slots=True)
class Operation:
    id: str | None
    progress: float = 0.0
    error: str = ""
    finished: bool = False
    url: str | None = None
    is_polled: bool = False
    """Whether this is what a poll said of it, and not what the first answer did."""
    missed_polls: int = 0
    """Polls in a row that did not tell of it."""

    @property
    def is_done(self) -> bool:
        return bool(self.error) or self.progress == _COMPLETE_PERCENT or self.finished

    @property
    def is_lost(self) -> bool:
        return self.missed_polls >= _MAX_QUICK_POLLS


async def wait_until_done(api: DocSpaceApi, started: JsonOrUndefined) -> Sequence[Operation]:
    """All of them done and without an error, as the polls told of them. Raises `DocSpaceError`."""
    operations = [_parse_operation(one) for one in (started if isinstance(started, list) else [started])]
    if not operations:
        raise DocSpaceError("No operations to sync.")
    polls, told = 0, -1.0
    with anyio.move_on_after(api.limits.operation_timeout_s) as waiting:
        while True:
            operations = _merge_poll(operations, await _poll(api))
            polls += 1
            told = _report_progress(api, operations, told)
            if all(one.is_done or one.is_lost for one in operations):
                break
            await anyio.sleep(
                _FIRST_POLL_INTERVAL_S
                if polls < _MAX_QUICK_POLLS
                else min(
                    _FIRST_POLL_INTERVAL_S * _INTERVAL_GROWTH ** (polls - _MAX_QUICK_POLLS + 1), _MAX_POLL_INTERVAL_S
                )
            )
    if failed := [one for one in operations if one.error or not one.is_done]:
        why = [
            line for one in failed if (line := _failure_message(one, api, late=waiting.cancelled_caught)) is not None
        ]
        raise DocSpaceError(f"{len(failed)} out of {len(operations)} operations are unresolved.", why)
    return [one for one in operations if one.is_polled]


def _failure_message(one: Operation, api: DocSpaceApi, *, late: bool) -> str | None:
    if one.error:
        return " ".join(one.error.split())
    if one.is_lost:
        return f"DocSpace tells nothing more of operation {one.id}, which may be done. Look before you try again."
    if late:
        took = f"after {api.limits.operation_timeout_s:g} seconds"
        return f"Operation {one.id} is at {one.progress:g} % {took}. DocSpace goes on with it; look again later."
    return None


async def _poll(api: DocSpaceApi) -> Sequence[Operation]:
    for tries_left in range(_MAX_POLL_TRIES - 1, -1, -1):
        try:
            answer = await api.get(api_path("files", "fileops"), OPERATIONS)
        except DocSpaceError as failed:
            # A connection that breaks once in ten minutes says nothing about the operation.
            if tries_left and _is_connection_lost(failed):
                await anyio.sleep(_FIRST_POLL_INTERVAL_S)
                continue
            raise DocSpaceError(
                "Resolving operations.", DocSpaceError("Calling operation statuses callback.", failed)
            ) from failed
        said = answer.payload if isinstance(answer.payload, list) else ()
        return [replace(_parse_operation(one), is_polled=True) for one in said]
    raise AssertionError("the last try returns or raises")


def _is_connection_lost(failed: DocSpaceError | None) -> bool:
    while isinstance(failed, DocSpaceError):
        if isinstance(failed, DocSpaceRequestError):
            return failed.is_connection_failure
        failed = failed.why if isinstance(failed.why, DocSpaceError) else None
    return False


def _merge_poll(operations: Sequence[Operation], polled: Sequence[Operation]) -> list[Operation]:
    said = {one.id: one for one in polled if one.id is not None}
    # Whatever is done stays done, although DocSpace soon forgets about it.
    return [
        one
        if one.is_done and one.is_polled
        else (None if one.id is None else said.get(one.id)) or replace(one, missed_polls=one.missed_polls + 1)
        for one in operations
    ]


def _report_progress(api: DocSpaceApi, operations: Sequence[Operation], before: float) -> float:
    """How far all of them are together, unless that is no farther than was told before: progress only grows."""
    done = sum(
        _COMPLETE_PERCENT if one.is_done else min(max(one.progress, 0.0), _COMPLETE_PERCENT) for one in operations
    )
    now = round(done / len(operations), 2)
    if now <= before:
        return before
    if api.progress is not None:
        api.progress(now, _COMPLETE_PERCENT, None)
    return now


def _parse_operation(one: JsonOrUndefined) -> Operation:
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
