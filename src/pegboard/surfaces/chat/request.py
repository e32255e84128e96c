"""Parses a chat request: known members are checked, others are passed on."""

import re
from collections.abc import Iterator
from typing import Final

import msgspec

from pegboard.core.calls.tickets import MAX_WAIT_S
from pegboard.core.json.values import MAX_READABLE_DEPTH, Json, JsonObject, has_more_values_than, is_deeper_than
from pegboard.core.model.foreign_names import CHAT_MEMBERS, near_member_hint
from pegboard.core.model.ids import BadId
from pegboard.core.model.patterns import LAUNCH_MEMBERS, NO_FILTER, LaunchFilter, parse_launch_filter
from pegboard.gateway.chat.request import ChatInput, ClientTool, SpecificTool, ToolChoice, ToolChoiceMode
from pegboard.surfaces.chat.response import ChatRejection, bad_request

MAX_MESSAGES: Final = 10_000
MAX_TOOLS: Final = 1_000
MAX_NAME_CHARS: Final = 512
MAX_PATTERNS: Final = 200
ROLES: Final = ("system", "developer", "user", "assistant", "tool")
KNOWN_MEMBERS: Final = frozenset(
    {
        *("model", "messages", "tools", "tool_choice", "parallel_tool_calls", "stream", "stream_options", "n"),
        *("functions", "function_call", "pegboard", "store"),
    }
)
"""Members that are not passed on as they are."""
MAX_SHOWN_CHARS: Final = 100
_EXTENSION_MEMBERS: Final = ("run", "wait", "filter")
_EXTENSION: Final = "run (true or false), wait (seconds) and filter"
_TOOL_NAME: Final = re.compile("[A-Za-z0-9_.-]{1,64}")
_NO_PARAMETERS: Final[JsonObject] = {"type": "object", "properties": {}}


class ParsedChatRequest(msgspec.Struct, frozen=True):
    request: ChatInput
    is_streamed: bool
    includes_usage: bool
    """Whether the last piece of a stream tells it."""


class _BadRequestError(Exception):
    def __init__(self, rejection: ChatRejection) -> None:
        super().__init__(rejection.message)
        self.rejection = rejection


def parse_chat_request(body: bytes, max_values: int) -> ParsedChatRequest | ChatRejection:
    """Takes as long as the body is large."""
    if is_deeper_than(MAX_READABLE_DEPTH, body):
        return bad_request(f"The body is nested more than {MAX_READABLE_DEPTH} levels deep. Send it flatter.")
    if has_more_values_than(max_values, body):
        told = f"The body has more than {max_values} values, counting each list and object. Send less at once"
        return ChatRejection(413, f"{told}, or have the operator raise gateway.max_values in pegboard.yaml.")
    try:
        value: Json = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, ValueError) as error:
        return bad_request(f"The body cannot be read as JSON: {error}. Correct it.")
    if not isinstance(value, dict):
        return bad_request("The body is not one JSON object.")
    try:
        return _parse_body(value)
    except _BadRequestError as error:
        return error.rejection


def _parse_body(body: JsonObject) -> ParsedChatRequest:
    for name in ("functions", "function_call"):
        if body.get(name) is not None:
            raise _bad_param(name, f"{name} is not taken. Write tools and tool_choice.")
    if body.get("n", 1) not in (1, None) or isinstance(body.get("n"), bool):
        raise _bad_param("n", "One answer is given to each request. Leave n out.")
    model = body.get("model")
    if model is not None and (not isinstance(model, str) or not model.strip() or len(model) > MAX_NAME_CHARS):
        raise _bad_param("model", "model must be the name of a model. See /v1/models.")
    tools = tuple(_parse_tools(body.get("tools")))
    choice = _parse_choice(body.get("tool_choice"))
    options = body.get("stream_options")
    if options is not None and not isinstance(options, dict):
        raise _bad_param("stream_options", "stream_options must be an object.")
    extension = body.get("pegboard")
    runs, waits = _parse_extension(extension, choice)
    asked = ChatInput(
        messages=tuple(_parse_messages(body.get("messages"))),
        model=model,
        tools=tools,
        choice=choice,
        one_at_a_time=_parse_boolean(body, "parallel_tool_calls", True) is False,
        executes_tools=runs,
        wait_s=waits,
        launch=_parse_filter(extension.get("filter") if isinstance(extension, dict) else None),
        sampling={name: value for name, value in body.items() if name not in KNOWN_MEMBERS},
    )
    usage = isinstance(options, dict) and _parse_boolean(options, "include_usage", False)
    return ParsedChatRequest(asked, _parse_boolean(body, "stream", False), usage)


def _parse_messages(value: Json) -> Iterator[JsonObject]:
    if not isinstance(value, list) or not value:
        raise _bad_param("messages", "messages must be a list with one message or more.")
    if len(value) > MAX_MESSAGES:
        raise _bad_param("messages", f"messages has {len(value)} entries, and {MAX_MESSAGES} are the most.")
    for at, message in enumerate(value):
        where = f"messages[{at}]"
        if not isinstance(message, dict):
            raise _bad_param(where, f"{where} must be an object with role and content.")
        role = message.get("role")
        if role not in ROLES:
            raise _bad_param(f"{where}.role", f"{where}.role must be one of {', '.join(ROLES)}.")
        _check_content(message.get("content"), f"{where}.content", required=role != "assistant")
        if role == "assistant" and message.get("tool_calls") is not None:
            _check_calls(message["tool_calls"], f"{where}.tool_calls")
        if role == "tool" and not isinstance(message.get("tool_call_id"), str):
            raise _bad_param(
                f"{where}.tool_call_id", f"{where}.tool_call_id must be the id of the call that it answers."
            )
        yield message


def _check_content(value: Json, where: str, *, required: bool) -> None:
    if isinstance(value, str) or (value is None and not required):
        return
    if not isinstance(value, list):
        raise _bad_param(where, f"{where} must be a text, or a list of parts.")
    for at, part in enumerate(value):
        if not isinstance(part, dict) or not isinstance(part.get("type"), str):
            raise _bad_param(f"{where}[{at}]", f"{where}[{at}] must be an object with a type.")
        if part["type"] == "text" and not isinstance(part.get("text"), str):
            raise _bad_param(f"{where}[{at}].text", f"{where}[{at}].text must be a text.")


def _check_calls(value: Json, where: str) -> None:
    if not isinstance(value, list):
        raise _bad_param(where, f"{where} must be a list.")
    for at, call in enumerate(value):
        function = call.get("function") if isinstance(call, dict) else None
        texts = (
            (call.get("id"), function.get("name"), function.get("arguments"))
            if isinstance(call, dict) and isinstance(function, dict)
            else ()
        )
        if not texts or not all(isinstance(text, str) for text in texts):
            told = "must have an id, and a function with a name and its arguments as JSON text"
            raise _bad_param(f"{where}[{at}]", f"{where}[{at}] {told}.")


def _parse_tools(value: Json) -> Iterator[ClientTool]:
    if value is None:
        return
    if not isinstance(value, list):
        raise _bad_param("tools", "tools must be a list.")
    if len(value) > MAX_TOOLS:
        raise _bad_param("tools", f"tools has {len(value)} entries, and {MAX_TOOLS} are the most.")
    names: set[str] = set()
    for at, tool in enumerate(value):
        where = f"tools[{at}]"
        function = tool.get("function") if isinstance(tool, dict) else None
        if not isinstance(tool, dict) or tool.get("type") != "function" or not isinstance(function, dict):
            raise _bad_param(where, f"{where} must be of the type function, with a function.")
        name, description, parameters = (function.get(key) for key in ("name", "description", "parameters"))
        if not isinstance(name, str) or _TOOL_NAME.fullmatch(name) is None:
            told = "must have 1 to 64 letters, digits, '_', '-' or '.'"
            raise _bad_param(f"{where}.function.name", f"{where}.function.name {told}.")
        if name in names:
            raise _bad_param(
                f"{where}.function.name", f"{where}.function.name is {name!r}, which another tool has already."
            )
        if not isinstance(description, str | None):
            raise _bad_param(f"{where}.function.description", f"{where}.function.description must be a text.")
        if not isinstance(parameters, dict | None):
            raise _bad_param(f"{where}.function.parameters", f"{where}.function.parameters must be a JSON Schema.")
        names.add(name)
        yield ClientTool(name, description or "", _NO_PARAMETERS if parameters is None else parameters, tool)


def _parse_choice(value: Json) -> ToolChoice:
    if value is None:
        return ToolChoiceMode.AUTO
    words = {choose.value: choose for choose in ToolChoiceMode}
    if isinstance(value, str) and value in words:
        return words[value]
    function = value.get("function") if isinstance(value, dict) and value.get("type") == "function" else None
    name = function.get("name") if isinstance(function, dict) else None
    if not isinstance(name, str) or not 0 < len(name) <= MAX_NAME_CHARS:
        told = 'or {"type": "function", "function": {"name": "NAME"}}'
        raise _bad_param("tool_choice", f"tool_choice must be auto, none or required, {told}.")
    return SpecificTool(name)


def _parse_extension(value: Json, choice: ToolChoice) -> tuple[bool, float]:
    """Who says that the model must call a tool wants the call, unless they say otherwise."""
    runs = choice in (ToolChoiceMode.AUTO, ToolChoiceMode.NEVER)
    if value is None:
        return runs, 0.0
    if not isinstance(value, dict):
        raise _bad_param("pegboard", f"pegboard must be an object with {_EXTENSION}, or some of them.")
    if (name := next((name for name in value if name not in _EXTENSION_MEMBERS), None)) is not None:
        known = (*_EXTENSION_MEMBERS, *(f"filter.{member}" for member in LAUNCH_MEMBERS))
        raise _unknown_member("pegboard", name, CHAT_MEMBERS.get(name) or near_member_hint(name, known), _EXTENSION)
    wait = value.get("wait", 0)
    if isinstance(wait, bool) or not isinstance(wait, int | float) or not 0 <= wait <= MAX_WAIT_S:
        raise _bad_param("pegboard.wait", f"pegboard.wait must be a number of seconds from 0 to {MAX_WAIT_S}.")
    return _parse_boolean(value, "run", runs), float(wait)


def _parse_filter(value: Json) -> LaunchFilter:
    if value is None:
        return NO_FILTER
    if not isinstance(value, dict):
        raise _bad_param(
            "pegboard.filter", f"pegboard.filter must be an object with some of {', '.join(LAUNCH_MEMBERS)}."
        )
    if (name := next((name for name in value if name not in LAUNCH_MEMBERS), None)) is not None:
        raise _unknown_member(
            "pegboard.filter", name, near_member_hint(name, LAUNCH_MEMBERS), ", ".join(LAUNCH_MEMBERS)
        )
    texts: dict[str, list[str]] = {}
    for name, patterns in value.items():
        if not isinstance(patterns, list) or len(patterns) > MAX_PATTERNS:
            where = f"pegboard.filter.{name}"
            raise _bad_param(where, f"{where} must be a list of at most {MAX_PATTERNS} patterns.")
        texts[name] = [pattern if isinstance(pattern, str) else "" for pattern in patterns]
    made = parse_launch_filter(texts)
    if isinstance(made, BadId):
        raise _bad_param("pegboard.filter", f"pegboard.filter: {made.why}.")
    return made


def _parse_boolean(body: JsonObject, name: str, otherwise: bool) -> bool:
    value = body.get(name)
    if value is None:
        return otherwise
    if not isinstance(value, bool):
        raise _bad_param(name, f"{name} must be true or false.")
    return value


def _unknown_member(where: str, name: str, hint: str | None, known: str) -> _BadRequestError:
    member = f"{where}.{name if len(name) <= MAX_SHOWN_CHARS else name[:MAX_SHOWN_CHARS] + '…'}"
    return _bad_param(member, " ".join(filter(None, (f"{member} is unknown.", hint, f"Known there: {known}."))))


def _bad_param(param: str, message: str) -> _BadRequestError:
    return _BadRequestError(bad_request(message, param))
