"""A request of the API, read: every member that means something here is checked, and all others are passed on."""

import re
from collections.abc import Iterator
from typing import Final

import msgspec

from pegboard.core.foreign_names import CHAT_MEMBERS, near_member_hint
from pegboard.core.ids import BadId
from pegboard.core.launch import MEMBERS, NO_FILTER, LaunchFilter, launch_filter
from pegboard.core.nesting import READABLE, deeper_than, more_values_than
from pegboard.core.ticket import LONGEST_WAIT
from pegboard.core.tool import Json, JsonObject
from pegboard.gateway.chat.asked import Asked, Choice, Choose, ChooseOne, ClientTool

from .faults import Refused, bad

MOST_MESSAGES: Final = 10_000
MOST_TOOLS: Final = 1_000
LONGEST_NAME: Final = 512
MOST_PATTERNS: Final = 200
ROLES: Final = ("system", "developer", "user", "assistant", "tool")
OURS: Final = frozenset(
    {
        *("model", "messages", "tools", "tool_choice", "parallel_tool_calls", "stream", "stream_options", "n"),
        *("functions", "function_call", "pegboard", "store"),
    }
)
"""Members that are not passed on as they are."""
LONGEST_SHOWN: Final = 100
_EXTENSION_MEMBERS: Final = ("run", "wait", "filter")
_EXTENSION: Final = "run (true or false), wait (seconds) and filter"
_TOOL_NAME: Final = re.compile("[A-Za-z0-9_.-]{1,64}")
_NO_PARAMETERS: Final[JsonObject] = {"type": "object", "properties": {}}


class Read(msgspec.Struct, frozen=True):
    asked: Asked
    streams: bool
    tells_usage: bool
    """Whether the last piece of a stream tells it."""


class _Bad(Exception):  # noqa: N818 - it carries an answer
    def __init__(self, refused: Refused) -> None:
        super().__init__(refused.message)
        self.refused = refused


def read(body: bytes, most_values: int) -> Read | Refused:
    """Takes as long as the body is large."""
    if deeper_than(READABLE, body):
        return bad(f"The body is nested more than {READABLE} levels deep. Send it flatter.")
    if more_values_than(most_values, body):
        told = f"The body has more than {most_values} values, counting each list and object. Send less at once"
        return Refused(413, f"{told}, or have the operator raise gateway.most_values in pegboard.yaml.")
    try:
        value: Json = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, ValueError) as error:
        return bad(f"The body cannot be read as JSON: {error}. Correct it.")
    if not isinstance(value, dict):
        return bad("The body is not one JSON object.")
    try:
        return _read(value)
    except _Bad as error:
        return error.refused


def _read(body: JsonObject) -> Read:
    for name in ("functions", "function_call"):
        if body.get(name) is not None:
            raise _wrong(name, f"{name} is not taken. Write tools and tool_choice.")
    if body.get("n", 1) not in (1, None) or isinstance(body.get("n"), bool):
        raise _wrong("n", "One answer is given to each request. Leave n out.")
    model = body.get("model")
    if model is not None and (not isinstance(model, str) or not model.strip() or len(model) > LONGEST_NAME):
        raise _wrong("model", "model must be the name of a model. See /v1/models.")
    tools = tuple(_tools(body.get("tools")))
    choice = _choice(body.get("tool_choice"))
    options = body.get("stream_options")
    if options is not None and not isinstance(options, dict):
        raise _wrong("stream_options", "stream_options must be an object.")
    extension = body.get("pegboard")
    runs, waits = _extension(extension, choice)
    asked = Asked(
        messages=tuple(_messages(body.get("messages"))),
        model=model,
        tools=tools,
        choice=choice,
        one_at_a_time=_truth(body, "parallel_tool_calls", True) is False,
        runs=runs,
        waits=waits,
        launch=_launch(extension.get("filter") if isinstance(extension, dict) else None),
        sampling={name: value for name, value in body.items() if name not in OURS},
    )
    usage = isinstance(options, dict) and _truth(options, "include_usage", False)
    return Read(asked, _truth(body, "stream", False), usage)


def _messages(value: Json) -> Iterator[JsonObject]:
    if not isinstance(value, list) or not value:
        raise _wrong("messages", "messages must be a list with one message or more.")
    if len(value) > MOST_MESSAGES:
        raise _wrong("messages", f"messages has {len(value)} entries, and {MOST_MESSAGES} are the most.")
    for at, message in enumerate(value):
        where = f"messages[{at}]"
        if not isinstance(message, dict):
            raise _wrong(where, f"{where} must be an object with role and content.")
        role = message.get("role")
        if role not in ROLES:
            raise _wrong(f"{where}.role", f"{where}.role must be one of {', '.join(ROLES)}.")
        _content(message.get("content"), f"{where}.content", required=role != "assistant")
        if role == "assistant" and message.get("tool_calls") is not None:
            _calls(message["tool_calls"], f"{where}.tool_calls")
        if role == "tool" and not isinstance(message.get("tool_call_id"), str):
            raise _wrong(f"{where}.tool_call_id", f"{where}.tool_call_id must be the id of the call that it answers.")
        yield message


def _content(value: Json, where: str, *, required: bool) -> None:
    if isinstance(value, str) or (value is None and not required):
        return
    if not isinstance(value, list):
        raise _wrong(where, f"{where} must be a text, or a list of parts.")
    for at, part in enumerate(value):
        if not isinstance(part, dict) or not isinstance(part.get("type"), str):
            raise _wrong(f"{where}[{at}]", f"{where}[{at}] must be an object with a type.")
        if part["type"] == "text" and not isinstance(part.get("text"), str):
            raise _wrong(f"{where}[{at}].text", f"{where}[{at}].text must be a text.")


def _calls(value: Json, where: str) -> None:
    if not isinstance(value, list):
        raise _wrong(where, f"{where} must be a list.")
    for at, call in enumerate(value):
        function = call.get("function") if isinstance(call, dict) else None
        texts = (
            (call.get("id"), function.get("name"), function.get("arguments"))
            if isinstance(call, dict) and isinstance(function, dict)
            else ()
        )
        if not texts or not all(isinstance(text, str) for text in texts):
            told = "must have an id, and a function with a name and its arguments as JSON text"
            raise _wrong(f"{where}[{at}]", f"{where}[{at}] {told}.")


def _tools(value: Json) -> Iterator[ClientTool]:
    if value is None:
        return
    if not isinstance(value, list):
        raise _wrong("tools", "tools must be a list.")
    if len(value) > MOST_TOOLS:
        raise _wrong("tools", f"tools has {len(value)} entries, and {MOST_TOOLS} are the most.")
    names: set[str] = set()
    for at, tool in enumerate(value):
        where = f"tools[{at}]"
        function = tool.get("function") if isinstance(tool, dict) else None
        if not isinstance(tool, dict) or tool.get("type") != "function" or not isinstance(function, dict):
            raise _wrong(where, f"{where} must be of the type function, with a function.")
        name, description, parameters = (function.get(key) for key in ("name", "description", "parameters"))
        if not isinstance(name, str) or _TOOL_NAME.fullmatch(name) is None:
            told = "must have 1 to 64 letters, digits, '_', '-' or '.'"
            raise _wrong(f"{where}.function.name", f"{where}.function.name {told}.")
        if name in names:
            raise _wrong(
                f"{where}.function.name", f"{where}.function.name is {name!r}, which another tool has already."
            )
        if not isinstance(description, str | None):
            raise _wrong(f"{where}.function.description", f"{where}.function.description must be a text.")
        if not isinstance(parameters, dict | None):
            raise _wrong(f"{where}.function.parameters", f"{where}.function.parameters must be a JSON Schema.")
        names.add(name)
        yield ClientTool(name, description or "", _NO_PARAMETERS if parameters is None else parameters, tool)


def _choice(value: Json) -> Choice:
    if value is None:
        return Choose.AS_IT_LIKES
    words = {choose.value: choose for choose in Choose}
    if isinstance(value, str) and value in words:
        return words[value]
    function = value.get("function") if isinstance(value, dict) and value.get("type") == "function" else None
    name = function.get("name") if isinstance(function, dict) else None
    if not isinstance(name, str) or not 0 < len(name) <= LONGEST_NAME:
        told = 'or {"type": "function", "function": {"name": "NAME"}}'
        raise _wrong("tool_choice", f"tool_choice must be auto, none or required, {told}.")
    return ChooseOne(name)


def _extension(value: Json, choice: Choice) -> tuple[bool, float]:
    """Who says that the model must call a tool wants the call, unless they say otherwise."""
    runs = choice in (Choose.AS_IT_LIKES, Choose.NEVER)
    if value is None:
        return runs, 0.0
    if not isinstance(value, dict):
        raise _wrong("pegboard", f"pegboard must be an object with {_EXTENSION}, or some of them.")
    if (name := next((name for name in value if name not in _EXTENSION_MEMBERS), None)) is not None:
        known = (*_EXTENSION_MEMBERS, *(f"filter.{member}" for member in MEMBERS))
        raise _unknown("pegboard", name, CHAT_MEMBERS.get(name) or near_member_hint(name, known), _EXTENSION)
    wait = value.get("wait", 0)
    if isinstance(wait, bool) or not isinstance(wait, int | float) or not 0 <= wait <= LONGEST_WAIT:
        raise _wrong("pegboard.wait", f"pegboard.wait must be a number of seconds from 0 to {LONGEST_WAIT}.")
    return _truth(value, "run", runs), float(wait)


def _launch(value: Json) -> LaunchFilter:
    if value is None:
        return NO_FILTER
    if not isinstance(value, dict):
        raise _wrong("pegboard.filter", f"pegboard.filter must be an object with some of {', '.join(MEMBERS)}.")
    if (name := next((name for name in value if name not in MEMBERS), None)) is not None:
        raise _unknown("pegboard.filter", name, near_member_hint(name, MEMBERS), ", ".join(MEMBERS))
    texts: dict[str, list[str]] = {}
    for name, patterns in value.items():
        if not isinstance(patterns, list) or len(patterns) > MOST_PATTERNS:
            where = f"pegboard.filter.{name}"
            raise _wrong(where, f"{where} must be a list of at most {MOST_PATTERNS} patterns.")
        texts[name] = [pattern if isinstance(pattern, str) else "" for pattern in patterns]
    made = launch_filter(texts)
    if isinstance(made, BadId):
        raise _wrong("pegboard.filter", f"pegboard.filter: {made.why}.")
    return made


def _truth(body: JsonObject, name: str, otherwise: bool) -> bool:
    value = body.get(name)
    if value is None:
        return otherwise
    if not isinstance(value, bool):
        raise _wrong(name, f"{name} must be true or false.")
    return value


def _unknown(where: str, name: str, hint: str | None, known: str) -> _Bad:
    member = f"{where}.{name if len(name) <= LONGEST_SHOWN else name[:LONGEST_SHOWN] + '…'}"
    return _wrong(member, " ".join(filter(None, (f"{member} is unknown.", hint, f"Known there: {known}."))))


def _wrong(param: str, message: str) -> _Bad:
    return _Bad(bad(message, param))
