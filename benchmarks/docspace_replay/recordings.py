"""A file of recorded calls, read: what was called with what, what was sent and answered on the way, and the result."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

LONG: Final = re.compile(r"<(\d+) chars of '(.)'>", re.DOTALL)
MOST_CHARACTERS: Final = 1 << 28
HANG: Final = "<hang>"


class BadRecordingsError(Exception):
    """A file that holds no recordings; the message says which file, where in it, and what was expected there."""


@dataclass(frozen=True)
class Request:
    """A request to the API. Headers have their names in lower case."""

    method: str
    path: str
    query: str = ""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    body: str | bytes | None = None
    """As it was sent; in a recording the boundary of a multipart body is written `<BOUNDARY>`."""

    @property
    def line(self) -> str:
        return f"{self.method} {self.path}{'?' if self.query else ''}{self.query}"


@dataclass(frozen=True)
class Response:
    status: int
    headers: Mapping[str, str]
    body: Any
    """A text as it is; everything else is sent as JSON."""


@dataclass(frozen=True)
class Result:
    texts: tuple[str, ...]
    structured: Any = None
    is_error: bool = False


@dataclass(frozen=True)
class Recording:
    number: int
    """Its place in the file, from 1."""
    tool: str
    note: str
    arguments: Any
    """None where the call came without any."""
    environment: Mapping[str, str] | None
    requests: tuple[Request, ...]
    responses: tuple[Response | Literal["<hang>"], ...]
    result: Result | None
    """None for a call that was cancelled and got no answer."""

    @property
    def title(self) -> str:
        return f"{self.number}. {self.tool}: {self.note}" if self.note else f"{self.number}. {self.tool}"


def read(file: Path) -> list[Recording]:
    try:
        text = file.read_text("utf-8")
    except OSError as error:
        raise BadRecordingsError(f"{file}: {error.strerror or error}. Name a file of recordings.") from None
    except UnicodeDecodeError:
        raise BadRecordingsError(f"{file}: this is not UTF-8 text. Name a JSON file of recordings.") from None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadRecordingsError(f"{file}: this is not JSON: {error}.") from None
    recordings = found.get("recordings") if isinstance(found, dict) else found
    if not isinstance(recordings, list):
        raise BadRecordingsError(f"{file}: expected a list of recordings, or an object with one under `recordings`.")
    if not recordings:
        raise BadRecordingsError(f"{file}: there is nothing to replay: the list of recordings is empty.")
    return [_recording(file, number, each) for number, each in enumerate(recordings, 1)]


def _recording(file: Path, number: int, given: Any) -> Recording:
    where = f"{file}: recording {number}"
    given = _of(dict, given, where)
    tool = _of(str, given.get("tool"), f"{where}: tool")
    where = f"{where} ({tool})"
    if "result" not in given:
        raise BadRecordingsError(f"{where}: result is missing; write null for a call that got no answer.")
    omitted = given.get("arguments_omitted") is True or "arguments" not in given
    environment = given.get("env")
    requests = _of(list, given.get("requests", []), f"{where}: requests")
    responses = _of(list, given.get("stub_responses", []), f"{where}: stub_responses")
    return Recording(
        number,
        tool,
        str(given.get("note") or ""),
        None if omitted else written_out(given["arguments"], where),
        None if environment is None else _texts(environment, f"{where}: env"),
        tuple(_request(each, f"{where}: request {place}") for place, each in enumerate(requests, 1)),
        tuple(_response(each, f"{where}: stub response {place}") for place, each in enumerate(responses, 1)),
        _result(given["result"], f"{where}: result"),
    )


def written_out(arguments: Any, where: str) -> Any:
    """A recording tells a long text as `<10485761 chars of 'z'>`; a call must send all of it."""
    if isinstance(arguments, str) and (long := LONG.fullmatch(arguments)):
        if int(long[1]) > MOST_CHARACTERS:
            raise BadRecordingsError(f"{where}: a text of {long[1]} characters is more than this replay sends.")
        return long[2] * int(long[1])
    if isinstance(arguments, dict):
        return {key: written_out(value, where) for key, value in arguments.items()}
    if isinstance(arguments, list):
        return [written_out(value, where) for value in arguments]
    return arguments


def _request(given: Any, where: str) -> Request:
    given = _of(dict, given, where)
    headers = _texts(given.get("headers", {}), f"{where}: headers")
    body = given.get("body_raw")
    if body is None and "json" in given:
        body = json.dumps(given["json"])
    return Request(
        _of(str, given.get("method"), f"{where}: method"),
        _of(str, given.get("path"), f"{where}: path"),
        _of(str, given.get("query_raw", ""), f"{where}: query_raw"),
        {name.lower(): value for name, value in headers.items()},
        None if body is None else _of(str, body, f"{where}: body_raw"),
    )


def _response(given: Any, where: str) -> Response | Literal["<hang>"]:
    if given == HANG:
        return HANG
    given = _of(dict, given, where)
    status = _of(int, given.get("status"), f"{where}: status")
    if not 200 <= status <= 599:
        raise BadRecordingsError(f"{where}: status: {status} is no final status of HTTP.")
    return Response(status, _texts(given.get("headers", {}), f"{where}: headers"), given.get("body", ""))


def _result(given: Any, where: str) -> Result | None:
    if given is None:
        return None
    given = _of(dict, given, where)
    content = _of(list, given.get("content", []), f"{where}: content")
    return Result(
        tuple(_block(each, f"{where}: content {place}") for place, each in enumerate(content, 1)),
        given.get("structuredContent"),
        given.get("isError") is True,
    )


def _block(given: Any, where: str) -> str:
    """A block's text; one that is not text, as its JSON."""
    given = _of(dict, given, where)
    text = given.get("text")
    return text if given.get("type") == "text" and isinstance(text, str) else json.dumps(given, sort_keys=True)


def _texts(given: Any, where: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value in _of(dict, given, where).items():
        found[name] = _of(str, value, f"{where}: {name}")
    return found


_KINDS: Final = {dict: "an object", list: "a list", str: "a text", int: "a whole number"}


def _of(kind: type, given: Any, where: str) -> Any:
    if not isinstance(given, kind) or (kind is int and isinstance(given, bool)):
        raise BadRecordingsError(f"{where}: expected {_KINDS[kind]}, but found {_briefly(given)}.")
    return given


def _briefly(given: Any, most: int = 60) -> str:
    if given is None:
        return "nothing"
    text = json.dumps(given, ensure_ascii=False)
    return text if len(text) <= most else f"{text[:most]}…"


def environments(recordings: Sequence[Recording]) -> list[Mapping[str, str] | None]:
    """Each in which calls were recorded, in order, once."""
    found: list[Mapping[str, str] | None] = []
    for recording in recordings:
        if recording.environment not in found:
            found.append(recording.environment)
    return found
