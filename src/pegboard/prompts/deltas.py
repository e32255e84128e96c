"""Calls that a model server gives beside the text, whole or in a stream of deltas, in all the shapes that servers send.

A delta should carry the id and the name of a call once and then pieces of its arguments. In the wild the index is
missing, the name is repeated, `arguments` is null or an object, and several whole calls come in one delta.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pegboard.core.json.values import Json
from pegboard.prompts.events import Arguments, BrokenCallEvent, CallDoneEvent, CallStartedEvent, OutputEvent, ParsedCall
from pegboard.prompts.repair import RepairedJson, UnrepairableJson, read_json, read_json_at
from pegboard.prompts.scanner import CUT_MESSAGE, SPACE, MatchedName, ToolNameMatcher
from pegboard.prompts.tool_shape import ToolShape
from pegboard.prompts.values import coerce_arguments


@dataclass(slots=True)
class _OpenCall:
    index: int
    id: str = ""
    name: str = ""
    parts: list[str] = field(default_factory=list)
    match: MatchedName | None = None
    is_whole: bool = False
    """Its arguments came as an object: nothing can be added."""

    @property
    def arguments_text(self) -> str:
        return "".join(self.parts)


class NativeCalls:
    """`feed` takes a `delta` of a stream or a whole `message`; `finish` says what the calls are."""

    def __init__(self, tools: Sequence[ToolShape] = ()) -> None:
        self._names = ToolNameMatcher(tools)
        self._calls: list[_OpenCall] = []
        self._by_key: dict[int, _OpenCall] = {}

    @property
    def ids(self) -> Mapping[int, str]:
        """The server's own id of each call, "" where it gave none."""
        return {call.index: call.id for call in self._calls}

    def feed(self, delta: Mapping[str, Json]) -> list[OutputEvent]:
        out: list[OutputEvent] = []
        for piece in _pieces(delta):
            function = piece.get("function")
            said = function if isinstance(function, dict) else piece
            name, arguments = said.get("name"), said.get("arguments")
            call = self._call_for(piece, name if isinstance(name, str) else "", arguments)
            if isinstance(name, str) and name:
                self._add_name(call, name)
            out += self._start_events(call)
            out += self._argument_events(call, arguments)
        return out

    def finish(self) -> list[OutputEvent]:
        out: list[OutputEvent] = []
        for call in self._calls:
            if call.match is None and call.name:
                out += self._start_events(call, final=True)
            out.append(self._end_event(call))
        return out

    # -- which call a piece is of ------------------------------------------------------------------------------------

    def _call_for(self, piece: Mapping[str, Json], name: str, arguments: Json) -> _OpenCall:
        index, id = piece.get("index"), piece.get("id")
        said_id = id if isinstance(id, str) else ""
        if isinstance(index, int) and not isinstance(index, bool):
            found = self._by_key.get(index)
            if found is None:
                found = self._by_key[index] = self._new_call()
        else:
            found = self._continued_call(name, said_id, arguments) or self._new_call()
        found.id = found.id or said_id
        return found

    def _continued_call(self, name: str, id: str, arguments: Json) -> _OpenCall | None:
        """Without an index a piece goes on with the last call, unless it is plainly another."""
        last = self._calls[-1] if self._calls else None
        if last is None or last.is_whole or (id and last.id and id != last.id):
            return None
        if (
            name
            and last.name
            and not (id and id == last.id)
            and (last.name != name or _is_whole_json(last.arguments_text))
        ):
            return None
        return last

    def _new_call(self) -> _OpenCall:
        call = _OpenCall(len(self._calls))
        self._calls.append(call)
        return call

    def _add_name(self, call: _OpenCall, name: str) -> None:
        if not call.name:
            call.name = name
        elif call.name != name and call.match is None:
            # Some servers cut names like any text.
            call.name += name

    def _start_events(self, call: _OpenCall, *, final: bool = False) -> list[OutputEvent]:
        """Told once the name is a tool's, or surely all that comes of it."""
        if call.match is not None or not call.name:
            return []
        matched = self._names.match(call.name)
        if matched.tool is None and self._names.tools and not final and not call.parts:
            return []
        call.match = matched
        before = call.arguments_text
        started: list[OutputEvent] = [CallStartedEvent(call.index, matched.name)]
        return [*started, Arguments(call.index, before)] if before else started

    def _argument_events(self, call: _OpenCall, arguments: Json) -> list[OutputEvent]:
        if arguments is None or arguments == "" or call.is_whole:
            return []
        if isinstance(arguments, str):
            text = arguments
        else:
            text, call.is_whole = json.dumps(arguments, ensure_ascii=False), True
        call.parts.append(text)
        if call.match is None:
            return self._start_events(call)
        return [Arguments(call.index, text)]

    # -- the end -----------------------------------------------------------------------------------------------------

    def _end_event(self, call: _OpenCall) -> OutputEvent:
        written = call.arguments_text
        if call.match is None:
            return BrokenCallEvent(
                "", f"A call with the arguments {written[:200]!r} has no name, so nothing was called."
            )
        found = parse_arguments_text(written)
        if isinstance(found, str):
            return BrokenCallEvent("", f"The call of {call.match.name!r} was not made: {found}")
        arguments, repairs = found
        if call.match.tool is not None:
            arguments, bent = coerce_arguments(arguments, call.match.tool)
            repairs += bent
        return CallDoneEvent(
            call.index, ParsedCall(call.match.name, arguments, "", written, (*call.match.repairs, *repairs))
        )


def parse_arguments_text(written: str) -> tuple[Mapping[str, Json], tuple[str, ...]] | str:
    """The arguments that a server gave as text and what was bent to read them, or why there are none."""
    if not written.strip():
        return {}, ()
    found = read_json(written)
    if isinstance(found, UnrepairableJson):
        found = _read_without_excess(written) or found
    if isinstance(found, UnrepairableJson):
        return (
            CUT_MESSAGE
            if _is_cut_off(written)
            else f"its arguments cannot be read: {found.why}. Write one JSON object."
        )
    value, repairs = found.value, found.repairs
    if isinstance(value, str):
        inner = read_json(value) if value.strip() else None
        if inner is None:
            return {}, repairs
        if isinstance(inner, UnrepairableJson):
            return "its arguments are a string. Write one JSON object."
        value, repairs = inner.value, (*repairs, "arguments in a string were read once more", *inner.repairs)
    if value is None:
        return {}, repairs
    return (value, repairs) if isinstance(value, dict) else "its arguments are no object. Write one JSON object."


def _read_without_excess(text: str) -> RepairedJson | None:
    """What stands before one closing brace too many, which some servers let through."""
    start = SPACE(text, 0).end()
    found = read_json_at(text, start)
    if found is None or text[found[1] :].strip() != "}":
        return None
    return RepairedJson(found[0], ("a } too many was left out",))


def _is_cut_off(text: str) -> bool:
    """Whether it ends before its brackets do, counted without regard to strings: for the wording of a message alone."""
    return text.count("{") > text.count("}") or text.count("[") > text.count("]")


def _is_whole_json(text: str) -> bool:
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
