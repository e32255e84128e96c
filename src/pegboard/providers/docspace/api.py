"""DocSpace's API as one caller uses it: requests, the envelope that answers come in, and what is wrong with them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pegboard.core.docspace import Access
from pegboard.core.tool import Json, JsonObject
from pegboard.ports import Clock, Progress

from . import javascript
from .asking import address
from .checking import UNDEFINED, Given, Kind, Many, Number, Optional, Party, Shape, Text, unlike
from .client import BrokenOff, Client, Reply, Sending
from .limits import Limits
from .pace import off_loop
from .trouble import Issue, Trouble

LINKS: Final = Many(Shape({"href": Text(), "action": Text()}))
_ENVELOPE: Final = Shape(
    {
        "status": Number(),
        "statusCode": Number(),
        "links": LINKS,
        "count": Optional(Number()),
        "total": Optional(Number()),
    }
)
_REFUSAL: Final = Shape(
    {
        "status": Number(),
        "statusCode": Number(),
        "error": Shape({"message": Text(), "type": Text(), "stack": Text(), "hresult": Number()}),
    }
)


@dataclass(frozen=True, slots=True)
class Answer:
    """A good answer: the whole of it, as it came and as it reads."""

    reply: Reply
    body: JsonObject

    @property
    def response(self) -> Given:
        return self.body.get("response", UNDEFINED)


class Api:
    """`progress` hears how far a long call has come."""

    def __init__(
        self, client: Client, access: Access, limits: Limits, now: Clock, progress: Progress | None = None
    ) -> None:
        self.client = client
        self.access = access
        self.limits = limits
        self.now = now
        self.progress = progress
        self.seat = client.seat(access)

    async def get(self, at: str, kind: Kind, filters: Mapping[str, Json] | None = None) -> Answer:
        return await self._asked("GET", at, kind, filters, None)

    async def post(self, at: str, kind: Kind, body: JsonObject, filters: Mapping[str, Json] | None = None) -> Answer:
        return await self._asked("POST", at, kind, filters, body)

    async def put(self, at: str, kind: Kind, body: JsonObject, filters: Mapping[str, Json] | None = None) -> Answer:
        return await self._asked("PUT", at, kind, filters, body)

    async def delete(self, at: str, kind: Kind, body: JsonObject) -> Answer:
        return await self._asked("DELETE", at, kind, None, body)

    async def _asked(
        self, method: str, at: str, kind: Kind, filters: Mapping[str, Json] | None, body: JsonObject | None
    ) -> Answer:
        headers = {"accept": "application/json"}
        content = None
        if body is not None:
            headers["content-type"] = "application/json"
            content = javascript.utf8(javascript.compact(body))
        sending = Sending(method, address(self.access.base, at, filters), headers, content)
        answer = await self.fetched(sending)
        if issues := unlike(kind, answer.response):
            raise Trouble("Parsing response.", issues)
        return answer

    async def fetched(self, sending: Sending, *, again: int | None = None) -> Answer:
        """Raises `Trouble`, as everything here does. `again` says how often to send what is not a question."""
        try:
            reply = await self.client.ask(self.access, sending, self.seat, tries=again)
            body = await off_loop(len(reply.body), read, reply)
            check(sending, reply, body, self.access.base)
        except BrokenOff as broken:
            reading = Trouble("Parsing response body.", broken)
            raise Trouble("Fetching request.", Trouble("Parsing response.", reading)) from broken
        except Trouble as failed:
            raise Trouble("Fetching request.", Trouble("Making bare fetch.", failed)) from failed
        try:
            return Answer(reply, self._opened(reply, body))
        except Trouble as failed:
            raise Trouble("Fetching request.", Trouble("Parsing response.", failed)) from failed

    def _opened(self, reply: Reply, body: Json | javascript.NotJson) -> JsonObject:
        if isinstance(body, javascript.NotJson):
            hint = gone_elsewhere(reply, self.access.base)
            if hint is None and reply.body.lstrip().startswith(b"<"):
                hint = Trouble(f"This is a web page, not the API of a DocSpace. Check the base URL {self.access.base}")
            raise Trouble("Parsing response body.", Trouble(str(body), hint))
        if isinstance(body, dict) and (_is_enveloped(body) or body.get("success") is True):
            return body
        raise Trouble("Parsing success response.", [Issue((), "invalid_union", "Invalid input")])


def gone_elsewhere(reply: Reply, base: str) -> Trouble | None:
    """What to do where an answer is bad because DocSpace is somewhere else than it was said to be."""
    if reply.moved is None:
        return None
    return Trouble(f"{base} redirects to {reply.moved}, where credentials do not follow. Use that as the base URL")


def check(sending: Sending, reply: Reply, body: Json | javascript.NotJson, base: str) -> None:
    """What the body says counts more than the status: DocSpace may tell of an error in an answer of 200."""
    told = refusal(body)
    if told is None:
        if reply.is_good:
            return
        told = reply.reason
    line = f"{sending.method} {sending.url}: {reply.status} {told}"
    raise Trouble("Checking response.", Trouble(line, gone_elsewhere(reply, base)))


def refusal(body: Json | javascript.NotJson) -> str | None:
    """Why DocSpace did not do what it was asked to, in its own words, where it says so."""
    if isinstance(body, javascript.NotJson):
        return None
    match body:
        case {"error": {"message": str(message)}} if _is_like(_REFUSAL, body):
            return message
        case {"success": False, "message": str(message)}:
            return message
        case _:
            return None


def read(reply: Reply) -> Json | javascript.NotJson:
    try:
        return javascript.read(reply.text)
    except javascript.NotJson as problem:
        return problem


def _is_enveloped(body: JsonObject) -> bool:
    counted = {name: value for name, value in body.items() if value is not None or name not in ("count", "total")}
    return _is_like(_ENVELOPE, counted)


def _is_like(kind: Shape, value: Json) -> bool:
    issues: list[Issue] = []
    kind.check(value, (), issues, Party.CALLER)
    return not issues
