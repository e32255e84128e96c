"""DocSpace's HTTP API for one caller: requests, envelopes and errors."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote_plus

from pegboard.core.calls.caller_credentials import ApiAccess
from pegboard.core.json.values import Json, JsonObject
from pegboard.ports.providers import Clock, Progress
from pegboard.providers.docspace import javascript
from pegboard.providers.docspace.client import DocSpaceClient, DocSpaceRequest, DocSpaceResponse, TruncatedResponseError
from pegboard.providers.docspace.javascript import encode_utf8, format_number, format_value
from pegboard.providers.docspace.limits import DocSpaceError, DocSpaceLimits, Issue, run_off_loop
from pegboard.providers.docspace.validation import (
    UNDEFINED,
    JsonOrUndefined,
    ListType,
    NumberType,
    ObjectType,
    OptionalMember,
    TextType,
    ValueSender,
    ValueType,
    response_issues,
)

# The addresses of DocSpace's API: paths and queries, as recorded byte for byte.

API_PATH: Final = "api/2.0/"


def api_path(*steps: str | float) -> str:
    """`files/file/101`: numbers are written as JavaScript writes them."""
    return API_PATH + "/".join(step if isinstance(step, str) else format_number(step) for step in steps)


def query_string(filters: Mapping[str, Json]) -> str:
    """Members in their order, lists as the same name again, nothing at all for an empty list."""
    pairs = [
        f"{_quote(name)}={_quote(format_value(one))}"
        for name, value in filters.items()
        for one in (value if isinstance(value, list) else [value])
    ]
    return "&".join(pairs)


def api_url(base: str, at: str, filters: Mapping[str, Json] | None = None) -> str:
    asked = query_string(filters) if filters else ""
    return f"{base}{at}?{asked}" if asked else f"{base}{at}"


def _quote(text: str) -> str:
    return quote_plus(encode_utf8(text), safe="*").replace("~", "%7E")


LINKS: Final = ListType(ObjectType({"href": TextType(), "action": TextType()}))
_ENVELOPE: Final = ObjectType(
    {
        "status": NumberType(),
        "statusCode": NumberType(),
        "links": LINKS,
        "count": OptionalMember(NumberType()),
        "total": OptionalMember(NumberType()),
    }
)
_ERROR_ENVELOPE: Final = ObjectType(
    {
        "status": NumberType(),
        "statusCode": NumberType(),
        "error": ObjectType({"message": TextType(), "type": TextType(), "stack": TextType(), "hresult": NumberType()}),
    }
)


@dataclass(frozen=True, slots=True)
class DocSpaceAnswer:
    """A good answer: the whole of it, as it came and as it reads."""

    http_response: DocSpaceResponse
    body: JsonObject

    @property
    def payload(self) -> JsonOrUndefined:
        return self.body.get("response", UNDEFINED)


class DocSpaceApi:
    """`progress` hears how far a long call has come."""

    def __init__(
        self,
        client: DocSpaceClient,
        access: ApiAccess,
        limits: DocSpaceLimits,
        now: Clock,
        progress: Progress | None = None,
    ) -> None:
        self.client = client
        self.access = access
        self.limits = limits
        self.now = now
        self.progress = progress
        self.large_answer_slot = client.large_answer_slot(access)

    async def get(self, at: str, kind: ValueType, filters: Mapping[str, Json] | None = None) -> DocSpaceAnswer:
        return await self._request("GET", at, kind, filters, None)

    async def post(
        self, at: str, kind: ValueType, body: JsonObject, filters: Mapping[str, Json] | None = None
    ) -> DocSpaceAnswer:
        return await self._request("POST", at, kind, filters, body)

    async def put(
        self, at: str, kind: ValueType, body: JsonObject, filters: Mapping[str, Json] | None = None
    ) -> DocSpaceAnswer:
        return await self._request("PUT", at, kind, filters, body)

    async def delete(self, at: str, kind: ValueType, body: JsonObject) -> DocSpaceAnswer:
        return await self._request("DELETE", at, kind, None, body)

    async def _request(
        self, method: str, at: str, kind: ValueType, filters: Mapping[str, Json] | None, body: JsonObject | None
    ) -> DocSpaceAnswer:
        headers = {"accept": "application/json"}
        content = None
        if body is not None:
            headers["content-type"] = "application/json"
            content = javascript.encode_utf8(javascript.to_compact_json(body))
        sending = DocSpaceRequest(method, api_url(self.access.base_url, at, filters), headers, content)
        answer = await self.fetch(sending)
        if issues := response_issues(kind, answer.payload):
            raise DocSpaceError("Parsing response.", issues)
        return answer

    async def fetch(self, sending: DocSpaceRequest, *, again: int | None = None) -> DocSpaceAnswer:
        """Raises `DocSpaceError`, as everything here does. `again` says how often to send what is not a question."""
        try:
            reply = await self.client.send(self.access, sending, self.large_answer_slot, tries=again)
            body = await run_off_loop(len(reply.body), parse_body, reply)
            check_response(sending, reply, body, self.access.base_url)
        except TruncatedResponseError as broken:
            reading = DocSpaceError("Parsing response body.", broken)
            raise DocSpaceError("Fetching request.", DocSpaceError("Parsing response.", reading)) from broken
        except DocSpaceError as failed:
            raise DocSpaceError("Fetching request.", DocSpaceError("Making bare fetch.", failed)) from failed
        try:
            return DocSpaceAnswer(reply, self._unwrap(reply, body))
        except DocSpaceError as failed:
            raise DocSpaceError("Fetching request.", DocSpaceError("Parsing response.", failed)) from failed

    def _unwrap(self, reply: DocSpaceResponse, body: Json | javascript.InvalidJsonError) -> JsonObject:
        if isinstance(body, javascript.InvalidJsonError):
            hint = redirect_hint(reply, self.access.base_url)
            if hint is None and reply.body.lstrip().startswith(b"<"):
                hint = DocSpaceError(
                    f"This is a web page, not the API of a DocSpace. Check the base URL {self.access.base_url}"
                )
            raise DocSpaceError("Parsing response body.", DocSpaceError(str(body), hint))
        if isinstance(body, dict) and (_is_envelope(body) or body.get("success") is True):
            return body
        raise DocSpaceError("Parsing success response.", [Issue((), "invalid_union", "Invalid input")])


def redirect_hint(reply: DocSpaceResponse, base: str) -> DocSpaceError | None:
    """What to do where an answer is bad because DocSpace is somewhere else than it was said to be."""
    if reply.redirected_to is None:
        return None
    return DocSpaceError(
        f"{base} redirects to {reply.redirected_to}, where credentials do not follow. Use that as the base URL"
    )


def check_response(
    sending: DocSpaceRequest, reply: DocSpaceResponse, body: Json | javascript.InvalidJsonError, base: str
) -> None:
    """What the body says counts more than the status: DocSpace may tell of an error in an answer of 200."""
    told = error_message(body)
    if told is None:
        if reply.is_success:
            return
        told = reply.reason
    line = f"{sending.method} {sending.url}: {reply.status} {told}"
    raise DocSpaceError("Checking response.", DocSpaceError(line, redirect_hint(reply, base)))


def error_message(body: Json | javascript.InvalidJsonError) -> str | None:
    """Why DocSpace did not do what it was asked to, in its own words, where it says so."""
    if isinstance(body, javascript.InvalidJsonError):
        return None
    match body:
        case {"error": {"message": str(message)}} if _matches(_ERROR_ENVELOPE, body):
            return message
        case {"success": False, "message": str(message)}:
            return message
        case _:
            return None


def parse_body(reply: DocSpaceResponse) -> Json | javascript.InvalidJsonError:
    try:
        return javascript.parse_json(reply.text)
    except javascript.InvalidJsonError as problem:
        return problem


def _is_envelope(body: JsonObject) -> bool:
    counted = {name: value for name, value in body.items() if value is not None or name not in ("count", "total")}
    return _matches(_ENVELOPE, counted)


def _matches(kind: ObjectType, value: Json) -> bool:
    issues: list[Issue] = []
    kind.check(value, (), issues, ValueSender.CALLER)
    return not issues
