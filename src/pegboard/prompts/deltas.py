"""Calls that a model server gives beside the text, whole or in a stream of deltas, in all the shapes that servers send.

A delta should carry the id and the name of a call once and then pieces of its arguments. In the wild the index is
missing, the name is repeated, `arguments` is null or an object, and several whole calls come in one delta.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pegboard.core.folded import Json

from .coercion import coerced
from .events import Arguments, Broken, Called, Done, Event, Started
from .matching import Matched, Names
from .repair import Read, Refused, read, read_at
from .scanner import CUT, SPACE
from .shapes import ToolShape


@dataclass(slots=True)
class _Open:
    index: int
    id: str = ""
    name: str = ""
    parts: list[str] = field(default_factory=list)
    told: Matched | None = None
    whole: bool = False
    """Its arguments came as an object: nothing can be added."""

    @property
    def written(self) -> str:
        return "".join(self.parts)


class NativeCalls:
    """`feed` takes a `delta` of a stream or a whole `message`; `finish` says what the calls are."""

    def __init__(self, tools: Sequence[ToolShape] = ()) -> None:
        self._names = Names(tools)
        self._calls: list[_Open] = []
        self._by_key: dict[int, _Open] = {}

    @property
    def ids(self) -> Mapping[int, str]:
        """The server's own id of each call, "" where it gave none."""
        return {call.index: call.id for call in self._calls}

    def feed(self, delta: Mapping[str, Json]) -> list[Event]:
        out: list[Event] = []
        for piece in _pieces(delta):
            function = piece.get("function")
            said = function if isinstance(function, dict) else piece
            name, arguments = said.get("name"), said.get("arguments")
            call = self._of(piece, name if isinstance(name, str) else "", arguments)
            if isinstance(name, str) and name:
                self._name(call, name)
            out += self._started(call)
            out += self._argued(call, arguments)
        return out

    def finish(self) -> list[Event]:
        out: list[Event] = []
        for call in self._calls:
            if call.told is None and call.name:
                out += self._started(call, final=True)
            out.append(self._ended(call))
        return out

    # -- which call a piece is of ------------------------------------------------------------------------------------

    def _of(self, piece: Mapping[str, Json], name: str, arguments: Json) -> _Open:
        index, id = piece.get("index"), piece.get("id")
        said_id = id if isinstance(id, str) else ""
        if isinstance(index, int) and not isinstance(index, bool):
            found = self._by_key.get(index)
            if found is None:
                found = self._by_key[index] = self._new()
        else:
            found = self._last(name, said_id, arguments) or self._new()
        found.id = found.id or said_id
        return found

    def _last(self, name: str, id: str, arguments: Json) -> _Open | None:
        """Without an index a piece goes on with the last call, unless it is plainly another."""
        last = self._calls[-1] if self._calls else None
        if last is None or last.whole or (id and last.id and id != last.id):
            return None
        if name and last.name and not (id and id == last.id) and (last.name != name or _whole(last.written)):
            return None
        return last

    def _new(self) -> _Open:
        call = _Open(len(self._calls))
        self._calls.append(call)
        return call

    def _name(self, call: _Open, name: str) -> None:
        if not call.name:
            call.name = name
        elif call.name != name and call.told is None:
            # Some servers cut names like any text.
            call.name += name

    def _started(self, call: _Open, *, final: bool = False) -> list[Event]:
        """Told once the name is a tool's, or surely all that comes of it."""
        if call.told is not None or not call.name:
            return []
        matched = self._names.match(call.name)
        if matched.tool is None and self._names.tools and not final and not call.parts:
            return []
        call.told = matched
        before = call.written
        started: list[Event] = [Started(call.index, matched.name)]
        return [*started, Arguments(call.index, before)] if before else started

    def _argued(self, call: _Open, arguments: Json) -> list[Event]:
        if arguments is None or arguments == "" or call.whole:
            return []
        if isinstance(arguments, str):
            text = arguments
        else:
            text, call.whole = json.dumps(arguments, ensure_ascii=False), True
        call.parts.append(text)
        if call.told is None:
            return self._started(call)
        return [Arguments(call.index, text)]

    # -- the end -----------------------------------------------------------------------------------------------------

    def _ended(self, call: _Open) -> Event:
        written = call.written
        if call.told is None:
            return Broken("", f"A call with the arguments {written[:200]!r} has no name, so nothing was called.")
        found = as_arguments_text(written)
        if isinstance(found, str):
            return Broken("", f"The call of {call.told.name!r} was not made: {found}")
        arguments, repairs = found
        if call.told.tool is not None:
            arguments, bent = coerced(arguments, call.told.tool)
            repairs += bent
        return Done(call.index, Called(call.told.name, arguments, "", written, (*call.told.repairs, *repairs)))


def as_arguments_text(written: str) -> tuple[Mapping[str, Json], tuple[str, ...]] | str:
    """The arguments that a server gave as text and what was bent to read them, or why there are none."""
    if not written.strip():
        return {}, ()
    found = read(written)
    if isinstance(found, Refused):
        found = _without_excess(written) or found
    if isinstance(found, Refused):
        return CUT if _cut(written) else f"its arguments cannot be read: {found.why}. Write one JSON object."
    value, repairs = found.value, found.repairs
    if isinstance(value, str):
        inner = read(value) if value.strip() else None
        if inner is None:
            return {}, repairs
        if isinstance(inner, Refused):
            return "its arguments are a string. Write one JSON object."
        value, repairs = inner.value, (*repairs, "arguments in a string were read once more", *inner.repairs)
    if value is None:
        return {}, repairs
    return (value, repairs) if isinstance(value, dict) else "its arguments are no object. Write one JSON object."


def _without_excess(text: str) -> Read | None:
    """What stands before one closing brace too many, which some servers let through."""
    start = SPACE(text, 0).end()
    found = read_at(text, start)
    if found is None or text[found[1] :].strip() != "}":
        return None
    return Read(found[0], ("a } too many was left out",))


def _cut(text: str) -> bool:
    """Whether it ends before its brackets do, counted without regard to strings: for the wording of a message alone."""
    return text.count("{") > text.count("}") or text.count("[") > text.count("]")


def _whole(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _pieces(delta: Mapping[str, Json]) -> Iterator[Mapping[str, Json]]:
    calls = delta.get("tool_calls")
    for piece in calls if isinstance(calls, list) else [calls]:
        if isinstance(piece, dict):
            yield piece
    legacy = delta.get("function_call")
    if isinstance(legacy, dict):
        yield {"index": 0, "function": legacy}
