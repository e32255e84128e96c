"""The body of a request to a model server: the system prompt, the conversation, and the tools where they go beside it.

The conversation comes in as OpenAI's API has it, with calls and results as members of messages. A model that calls
tools in its text is sent the same conversation in its own format.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from pegboard.core.json.values import Json, JsonObject
from pegboard.core.model.settings import NATIVE
from pegboard.prompts.events import ParsedCall
from pegboard.prompts.formats import FORMATS, Format, FormatMessage, FormattedResult
from pegboard.prompts.system_prompt import BuiltPrompt
from pegboard.prompts.tool_shape import tool_functions

RESERVED_MEMBERS: Final = frozenset({"model", "messages", "tools", "tool_choice", "stream"})
"""Members of a request that are written here. Others are passed on as they come."""
_SYSTEM: Final = frozenset({"system", "developer"})
_SHORT_ID: Final = re.compile("[A-Za-z0-9]{9}")


def chat_request(
    prompt: BuiltPrompt,
    messages: Sequence[Mapping[str, Json]],
    *,
    model: str | None = None,
    stream: bool = False,
    tool_choice: Json = None,
    passed_on: Mapping[str, Json] | None = None,
) -> JsonObject:
    """Ready to be sent. `messages` hold what was said, called and answered so far; system messages among them stand
    behind the prompt. `passed_on` are further members (temperature, max_tokens); none can replace one of ours."""
    native = prompt.capabilities.is_native
    body: JsonObject = {key: value for key, value in (passed_on or {}).items() if key not in RESERVED_MEMBERS}
    body["model"] = prompt.capabilities.model.name if model is None else model
    said = [message for message in messages if message.get("role") not in _SYSTEM]
    own = [_text(message) for message in messages if message.get("role") in _SYSTEM]
    choice = "" if native or not prompt.offered_tools else _tool_choice_instruction(tool_choice)
    system = "\n\n".join(filter(None, (prompt.system, *own, choice)))
    spoken = prompt.capabilities.history_format
    if spoken is None:
        # No format is switched on, and yet a client may tell of calls: what knows none is told of them in words.
        spoken = NATIVE if prompt.capabilities.model.tool_calling else "hermes"
    if spoken == NATIVE:
        history = [*_with_ids(said, _id_format(prompt))]
    else:
        history = [*_merge_messages(_in_format(said, FORMATS[spoken]))]
    first: list[Json] = [{"role": "system", "content": system}] if system else []
    body["messages"] = [*first, *history]
    if native and prompt.offered_tools:
        body["tools"] = tool_functions(prompt.shapes)
        body["tool_choice"] = "auto" if tool_choice is None else tool_choice
    if stream:
        body["stream"] = True
    return body


def _tool_choice_instruction(choice: Json) -> str:
    """What the model is asked to do, where no server holds it to that."""
    match choice:
        case "required":
            return "Answer with a call of one of your tools."
        case {"function": {"name": str(name)}} | {"name": str(name)}:
            return f"Answer with a call of {name}."
        case "none":
            return "Call no tool now. Answer in plain text."
        case _:
            return ""


def _in_format(messages: Iterable[Mapping[str, Json]], format: Format) -> Iterator[JsonObject]:
    names: dict[str, str] = {}
    waiting: list[FormattedResult] = []
    for message in messages:
        if message.get("role") == "tool":
            id = str(message.get("tool_call_id") or "")
            waiting.append(FormattedResult(names.get(id) or str(message.get("name") or "tool"), _text(message), id))
            continue
        yield from map(_to_message, format.results(waiting) if waiting else ())
        waiting = []
        calls = [*_calls(message, names)]
        if not calls:
            yield {key: value for key, value in message.items() if key != "tool_calls"}
            continue
        yield {"role": "assistant", "content": "\n".join(filter(None, (_text(message), format.calls_text(calls))))}
    yield from map(_to_message, format.results(waiting) if waiting else ())


def _calls(message: Mapping[str, Json], names: dict[str, str]) -> Iterator[ParsedCall]:
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list) else ():
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(call, dict) or not isinstance(function, dict):
            continue
        name = str(function.get("name") or "")
        names[str(call.get("id") or "")] = name
        yield ParsedCall(name, _arguments(function.get("arguments")))


def _arguments(said: Json) -> Mapping[str, Json]:
    """As text in which the API has them, or as some clients send them. What is no object is kept under a name, so that
    the model sees what it wrote."""
    value = said
    if isinstance(said, str):
        try:
            value = json.loads(said or "{}")
        except (ValueError, RecursionError):
            return {"unreadable": said}
    return value if isinstance(value, dict) else {} if value is None else {"unreadable": json.dumps(value)}


def _to_message(message: FormatMessage) -> JsonObject:
    """Servers know the role of tools with calls of their own alone, so that what a format tells in another role than
    these goes in the user's name."""
    return {"role": message.role if message.role in ("user", "assistant") else "user", "content": message.text}


def _merge_messages(messages: Iterable[JsonObject]) -> Iterator[JsonObject]:
    """Many chat templates refuse two messages of one role in a row."""
    last: JsonObject | None = None
    for message in messages:
        if last is not None and last.get("role") == message.get("role") and _is_plain(last) and _is_plain(message):
            last = {**last, "content": "\n\n".join(filter(None, (str(last["content"]), str(message["content"]))))}
            continue
        if last is not None:
            yield last
        last = message
    if last is not None:
        yield last


def _is_plain(message: JsonObject) -> bool:
    return isinstance(message.get("content"), str) and {*message} <= {"role", "content"}


def _text(message: Mapping[str, Json]) -> str:
    content = message.get("content")
    if isinstance(content, list):
        texts = (part.get("text") for part in content if isinstance(part, dict))
        return "\n".join(text for text in texts if isinstance(text, str))
    return content if isinstance(content, str) else ""


def _id_format(prompt: BuiltPrompt) -> str:
    """The family whose templates refuse calls with other ids than their own."""
    format = prompt.capabilities.model.format
    return format if format in ("mistral", "kimi_k2") else ""


def _with_ids(messages: Iterable[Mapping[str, Json]], format: str) -> Iterator[JsonObject]:
    renamed: dict[str, str] = {}
    for message in messages:
        told = dict(message)
        calls = told.get("tool_calls")
        if format and isinstance(calls, list):
            told["tool_calls"] = [_rename_call(call, format, renamed) for call in calls]
        id = told.get("tool_call_id")
        if isinstance(id, str) and id in renamed:
            told["tool_call_id"] = renamed[id]
        yield told


def _rename_call(call: Json, format: str, renamed: dict[str, str]) -> Json:
    if not isinstance(call, dict) or not isinstance(id := call.get("id"), str):
        return call
    function = call.get("function")
    name = str(function.get("name")) if isinstance(function, dict) else ""
    if format == "mistral" and _SHORT_ID.fullmatch(id) is None:
        renamed[id] = hashlib.sha256(id.encode("utf-8", "surrogatepass")).hexdigest()[:9]
    elif format == "kimi_k2" and not id.startswith(f"functions.{name}:"):
        renamed[id] = f"functions.{name}:{len(renamed)}"
    return {**call, "id": renamed.get(id, id)}
