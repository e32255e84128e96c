"""What was expected of a call beside what it did, point by point."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from .multipart import MultipartError, between, parts
from .recordings import Request, Result

COMPARED_HEADERS: Final = ("accept", "authorization", "content-type", "cookie", "user-agent")
"""What a server may act upon. The rest is what each HTTP library adds by itself."""
SHORTENED: Final = re.compile(r"\.\.\.<(\d+) chars total>\.\.\.")
MOMENTS: Final = frozenset({"createOn"})
MOST_SHOWN: Final = 400


@dataclass(frozen=True)
class Expected:
    requests: tuple[Request, ...]
    result: Result | None


@dataclass(frozen=True)
class Did:
    requests: tuple[Request, ...]
    result: Result | None


@dataclass(frozen=True)
class Discrepancy:
    where: str
    recorded: str
    ours: str

    def __str__(self) -> str:
        return f"{self.where}: recorded {self.recorded}, ours {self.ours}"


def discrepancies(expected: Expected, did: Did) -> list[Discrepancy]:
    return [*_requests(expected.requests, did.requests), *_results(expected.result, did.result)]


def _requests(expected: Sequence[Request], did: Sequence[Request]) -> Iterator[Discrepancy]:
    for place in range(max(len(expected), len(did))):
        where = f"request {place + 1}"
        if place >= len(did):
            yield Discrepancy(where, expected[place].line, "nothing")
        elif place >= len(expected):
            yield Discrepancy(where, "nothing", did[place].line)
        else:
            yield from _request(where, expected[place], did[place])


def _request(where: str, expected: Request, did: Request) -> Iterator[Discrepancy]:
    if expected.line != did.line:
        yield Discrepancy(where, expected.line, did.line)
        return
    for name in COMPARED_HEADERS:
        recorded, ours = expected.headers.get(name), did.headers.get(name)
        if _header(name, recorded) != _header(name, ours):
            yield Discrepancy(f"{where}, header {name}", _shown(recorded), _shown(ours))
    kind = did.headers.get("content-type", "")
    if not same_body(expected.body, did.body, kind):
        yield Discrepancy(f"{where}, body", _shown(_text(expected.body)), _shown(_text(did.body)))


def _header(name: str, value: str | None) -> str | None:
    """Which boundary divides a multipart body is chance, and so it stands for itself."""
    if name == "content-type" and value is not None:
        value = re.sub(r'boundary=("[^"]+"|[^\s;]+)', "boundary=…", value)
        return value.partition(";")[0] if value.startswith("application/json") else value
    return value


def same_body(recorded: str | bytes | None, ours: str | bytes | None, kind: str) -> bool:
    if not recorded or not ours:
        return not recorded and not ours
    sent = ours if isinstance(ours, bytes) else ours.encode()
    if kind.startswith("multipart/form-data"):
        return _same_multipart(_text(recorded) or "", kind, sent)
    try:
        return same(json.loads(recorded), json.loads(sent))
    except ValueError:
        return _text(recorded) == _text(sent)


def _same_multipart(recorded: str, kind: str, sent: bytes) -> bool:
    try:
        ours = parts(kind, sent)
        if SHORTENED.search(recorded) is None:
            return ours == between(b"<BOUNDARY>", recorded.encode())
    except MultipartError:
        return False
    # Of a long body the recording kept both ends and the length that it has with its boundary written so.
    boundary = sent[2 : sent.index(b"\r\n")]
    text = sent.replace(boundary, b"<BOUNDARY>").decode("utf-8", "replace")
    shortened = SHORTENED.search(recorded)
    assert shortened is not None
    head, tail = recorded[: shortened.start()], recorded[shortened.end() :]
    return len(text) == int(shortened[1]) and text.startswith(head) and text.endswith(tail)


def same(recorded: Any, ours: Any, key: str = "") -> bool:
    """Equal as JSON: true is not 1, 1.0 is 1, the order of keys is nothing. A moment is any moment."""
    if isinstance(recorded, dict) and isinstance(ours, dict):
        return recorded.keys() == ours.keys() and all(same(recorded[each], ours[each], each) for each in recorded)
    if isinstance(recorded, list) and isinstance(ours, list):
        return len(recorded) == len(ours) and all(same(*pair) for pair in zip(recorded, ours, strict=True))
    if key in MOMENTS and isinstance(recorded, str) and isinstance(ours, str):
        return _is_moment(recorded) == _is_moment(ours)
    if isinstance(recorded, bool) or isinstance(ours, bool):
        return recorded is ours
    return bool(recorded == ours)


def _is_moment(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


def _results(expected: Result | None, did: Result | None) -> Iterator[Discrepancy]:
    if expected is None or did is None:
        if expected is not did:
            yield Discrepancy("result", _told(expected), _told(did))
        return
    if expected.is_error != did.is_error:
        yield Discrepancy("error flag", str(expected.is_error), str(did.is_error))
    if expected.texts != did.texts:
        yield Discrepancy("text", *_where_they_part("\n".join(expected.texts), "\n".join(did.texts)))
    if not same(expected.structured, did.structured):
        recorded, ours = json.dumps(expected.structured), json.dumps(did.structured)
        yield Discrepancy("structured content", *_where_they_part(recorded, ours))


def _told(result: Result | None) -> str:
    return "no answer" if result is None else _shown("\n".join(result.texts))


def _where_they_part(recorded: str, ours: str) -> tuple[str, str]:
    """Two long texts from shortly before they differ."""
    differing = next((at for at, (one, other) in enumerate(zip(recorded, ours, strict=False)) if one != other), None)
    at = min(len(recorded), len(ours)) if differing is None else differing
    begin = max(at - 60, 0) if max(len(recorded), len(ours)) > MOST_SHOWN else 0
    return _shown(recorded[begin:]), _shown(ours[begin:])


def _text(body: str | bytes | None) -> str | None:
    return body.decode("utf-8", "replace") if isinstance(body, bytes) else body


def _shown(text: str | None) -> str:
    if text is None:
        return "nothing"
    return repr(text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}…")
