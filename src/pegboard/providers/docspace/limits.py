"""Fair shares of connections and memory for each DocSpace, so that a slow one does not block others."""

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from types import TracebackType
from typing import Final, ParamSpec, TypeAlias, TypeVar

import anyio
import anyio.to_thread
from anyio.lowlevel import RunVar

# How long DocSpace is waited for, and how much of it is taken.

MIB: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class DocSpaceLimits:
    """Seconds and bytes."""

    connect_timeout_s: float = 15.0
    answer_timeout_s: float = 120.0
    """For one request, from its first byte to the last of its answer."""
    operation_timeout_s: float = 600.0
    """For what DocSpace does in the background: deletions, copies, conversions."""
    max_body_bytes: int = 8 * MIB
    """Of an answer of the API, of which fifty entries are far below one."""
    max_download_bytes: int = 64 * MIB
    """Of a file as text."""
    queue_timeout_s: float = 20.0
    """For requests of others that are in the way."""
    max_tries: int = 3
    """How often a question is put that DocSpace is too busy for."""
    retry_pause_s: float = 0.3
    """Before the second try, where DocSpace does not say how long; twice that before each further one."""
    max_retry_pause_s: float = 30.0
    """A DocSpace that wants to be left alone for longer is not waited for."""


# Work on large texts, kept off the event loop: everybody else's calls go on meanwhile.

_OFF_LOOP_BYTES: Final = 256 * 1024
"""Bytes that are worked through in about as long as a thread takes to start."""

_limiter: Final = RunVar[anyio.CapacityLimiter]("pegboard_docspace_one")
"""One at a time: several would take no less time, and leave less of it to the event loop."""

P = ParamSpec("P")
R = TypeVar("R")


async def run_off_loop(size: int, work: Callable[P, R], *given: P.args, **named: P.kwargs) -> R:
    """`work(*given)`, in a thread where `size` is large."""
    if size <= _OFF_LOOP_BYTES:
        return work(*given, **named)
    try:
        one = _limiter.get()
    except LookupError:
        _limiter.set(one := anyio.CapacityLimiter(1))
    return await anyio.to_thread.run_sync(lambda: work(*given, **named), abandon_on_cancel=True, limiter=one)


# Why a call failed, as the chain of what was being done: a line for each step, one tab further in each time.

ValuePath: TypeAlias = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Issue:
    """One thing that is wrong with a value, and where in it."""

    path: ValuePath
    code: str
    message: str
    fatal: bool = False
    """Whether the value is of another kind, so that nothing more can be asked of it."""

    def __str__(self) -> str:
        return f"{format_path(self.path)}: {self.code} {self.message}" if self.path else f"{self.code}: {self.message}"


def format_path(path: ValuePath) -> str:
    """`filters.fields[0]`. Clients know paths without their first character, whatever that is, so an index at the root
    is `0]`."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)[1:]


class DocSpaceError(Exception):
    """A step that failed. `why` is the step within it that did, or all that is wrong with a value."""

    def __init__(self, step: str, why: "DocSpaceError | Sequence[Issue] | Sequence[str] | None" = None) -> None:
        super().__init__(step)
        self.step = step
        self.why = why

    def __str__(self) -> str:
        return "\n".join(self._lines(0))

    def _lines(self, depth: int) -> Iterator[str]:
        yield "\t" * depth + self.step
        match self.why:
            case None:
                return
            case DocSpaceError():
                yield from self.why._lines(depth + 1)
            case _:
                for line in self.why:
                    # What is wrong with a value stands one level further in than a step would.
                    tabs = "\t" * (depth + (2 if isinstance(line, Issue) else 1))
                    yield f"{tabs}{line}"


MAX_REQUESTS_PER_PLACE: Final = 32
"""Requests that are under way at once."""
LARGE_ANSWER_BYTES: Final = 512 * 1024
"""Bytes from which on an answer needs a seat: read, it takes many times that."""
MAX_LARGE_ANSWERS: Final = 4
MAX_LARGE_ANSWERS_PER_PLACE: Final = 2


class TooBusyError(DocSpaceError):
    """Others are in the way, for longer than anybody wants to wait."""


@dataclass(slots=True)
class _PlaceSlots:
    semaphore: anyio.Semaphore
    user_count: int = 0


@dataclass(slots=True)
class PlaceLimiter:
    max_slots: int
    timeout_s: float
    _places: dict[str, _PlaceSlots] = field(default_factory=dict[str, _PlaceSlots])

    @asynccontextmanager
    async def slot(self, place: str, crowded: str) -> AsyncIterator[None]:
        """Raises `TooBusyError`, with these words, where none gets free in time."""
        share = self._places.setdefault(place, _PlaceSlots(anyio.Semaphore(self.max_slots)))
        share.user_count += 1
        try:
            try:
                with anyio.fail_after(self.timeout_s):
                    await share.semaphore.acquire()
            except TimeoutError:
                raise TooBusyError(crowded) from None
            try:
                yield
            finally:
                share.semaphore.release()
        finally:
            share.user_count -= 1
            if not share.user_count:
                del self._places[place]


class DocSpaceLimiter:
    """All requests of one gateway to its DocSpaces."""

    def __init__(self, patience: float) -> None:
        self._requests = PlaceLimiter(MAX_REQUESTS_PER_PLACE, patience)
        self._large_answers = PlaceLimiter(MAX_LARGE_ANSWERS, patience)
        self._large_answers_per_place = PlaceLimiter(MAX_LARGE_ANSWERS_PER_PLACE, patience)

    @asynccontextmanager
    async def request_slot(self, place: str) -> AsyncIterator[None]:
        told = (
            f"{MAX_REQUESTS_PER_PLACE} requests to {place} are under way and none of them ends. Try again in a moment"
        )
        async with self._requests.slot(place, told):
            yield

    @asynccontextmanager
    async def large_answer_slot(self, place: str) -> AsyncIterator[None]:
        """A seat for an answer that is large. First among those of the same place, so that they wait for each other
        before anybody else waits for them."""
        told = "too many large answers are read at once. Ask for less, or try again in a moment"
        async with self._large_answers_per_place.slot(place, told), self._large_answers.slot("", told):
            yield


# The seat that a call has while it holds a large answer.


class LargeAnswerSlot:
    """Taken once, however many large answers the call reads, and given back when it ends."""

    def __init__(self, crowd: DocSpaceLimiter, place: str) -> None:
        self._limiter = crowd
        self._place = place
        self._acquired: AsyncExitStack | None = None

    async def acquire(self) -> None:
        """Raises `TooBusyError`."""
        if self._acquired is None:
            held = AsyncExitStack()
            await held.enter_async_context(self._limiter.large_answer_slot(self._place))
            self._acquired = held

    async def __aenter__(self) -> "LargeAnswerSlot":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._acquired is not None:
            await self._acquired.aclose()
