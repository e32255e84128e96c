"""Checks of a request's headers before it is parsed: Host, Origin, method, content type, length; and of the JSON's size
and depth (ADR 11).
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from ipaddress import ip_address
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

import anyio
import msgspec
from anyio import to_thread

from pegboard.core.json.values import MAX_VALUES, Json, has_more_values_than
from pegboard.gateway.access.attempts import TrustedProxies
from pegboard.memory import pause_garbage_collection
from pegboard.surfaces.mcp.protocol import HANDSHAKE_PROTOCOL_VERSIONS, INVALID_PARAMS, INVALID_REQUEST, PARSE_ERROR
from pegboard.surfaces.mcp.wire import UnreadableJson, describe_unreadable, parse_strict_json, sanitize_text

if TYPE_CHECKING:
    from starlette.types import Receive, Send


HTTP_METHODS: Final = ("POST", "GET", "DELETE")
SINGLE_HEADERS: Final = frozenset(
    {
        *(b"host", b"origin", b"authorization"),
        *(b"content-type", b"content-length", b"content-encoding", b"accept"),
        *(b"mcp-session-id", b"mcp-protocol-version", b"mcp-method", b"mcp-name"),
    }
)
"""Given twice, two readers on the way could each take another one."""

STATUS_TOO_LARGE: Final = 413
_HOST_PATTERN: Final = re.compile(r"(?:\[(?P<six>[0-9a-f:.]+)\]|(?P<name>[^\s:/?#@\[\]\\]+))(?::[0-9*]{0,5})?")
CLOSE_HEADERS: Final = ((b"connection", b"close"),)
JSON_TYPE: Final = "application/json"
EVENT_STREAM_TYPE: Final = "text/event-stream"


@dataclass(frozen=True)
class HttpRejection:
    """An answer in place of the request's own. The message says what to do."""

    status: int
    message: str
    code: int = INVALID_REQUEST
    headers: tuple[tuple[bytes, bytes], ...] = ()
    id: str | int | None = None
    """Of the request that is refused, where so much of it could be read."""


@dataclass(frozen=True)
class RequestChecks:
    """Loopback names are always let in. Behind a name of your own, name it here."""

    allowed_hosts: frozenset[str] = frozenset()
    """Names under which clients may address the gateway, without port; `*` for any."""
    allowed_origins: frozenset[str] = frozenset()
    """Web pages that may call it, as their origin: `https://app.example`."""
    proxies: TrustedProxies = TrustedProxies()  # noqa: RUF009  it is frozen, like all of this
    """Whose word on the address of a client is taken."""
    max_body_bytes: int = 10 * 1024 * 1024
    max_values: int = MAX_VALUES
    """In the body of one request: a few bytes each, they would hold up everybody else while they are read."""
    max_discarded_bytes: int = 64 * 1024 * 1024
    """Bytes of a body that is too large which are read all the same, so that its client hears why."""
    max_sessions: int = 5_000
    max_sessions_per_principal: int = 500
    """Of one principal with a token of its own, so that none shuts the others out."""
    session_idle_s: float = 30 * 60.0
    """Seconds after which a session without any request ends."""
    client_timeout_s: float = 60.0
    """Seconds to wait for a client that neither sends the rest of its request nor reads its answer."""
    startup_wait_s: float = 3.0
    """Seconds that a name nobody knows may take to become known while servers are still starting."""

    def check_value_count(self, body: bytes) -> HttpRejection | None:
        """The reason not to read a body: beside the event loop, if it is large."""
        if not has_more_values_than(self.max_values, body):
            return None
        return HttpRejection(
            413,
            f"The body has more than {self.max_values} values, counting each list and object. Send less at once, send "
            "what is large as one text, or have the operator raise gateway.max_values in pegboard.yaml.",
            INVALID_PARAMS,
        )

    @cached_property
    def _host_names(self) -> frozenset[str]:
        return frozenset(host_name(host) for host in self.allowed_hosts)

    @cached_property
    def _origin_names(self) -> frozenset[str]:
        return frozenset(origin.lower().rstrip("/") for origin in self.allowed_origins)

    def check_address(self, given: Iterable[tuple[bytes, bytes]]) -> HttpRejection | None:
        """The reason not to serve whoever addresses this machine so, whatever it asks for."""
        headers: dict[bytes, bytes] = {}
        for name, value in given:
            if name in (b"host", b"origin") and name in headers:
                return duplicate_header_rejection(name)
            headers[name] = value
        return self._check_host_and_origin(headers)

    def check_request(self, method: str, given: Iterable[tuple[bytes, bytes]]) -> HttpRejection | None:
        """The first reason not to serve a request with these headers; a rebound name is turned away before all else."""
        headers: dict[bytes, bytes] = {}
        for name, value in given:
            if name in SINGLE_HEADERS and name in headers:
                return duplicate_header_rejection(name)
            headers[name] = value
        return (
            self._check_host_and_origin(headers)
            or _check_method(method, headers)
            or (self._check_body_headers(headers) if method == "POST" else None)
        )

    def _check_host_and_origin(self, headers: dict[bytes, bytes]) -> HttpRejection | None:
        if b"host" not in headers:
            return HttpRejection(400, "The request does not say whom it is for. Send it with a Host header.")
        given = headers[b"host"].decode("latin-1").strip()
        host = host_name(given)
        if given and not host:
            return HttpRejection(
                400, f"Host {given[:100]!r} is no name with a port. Send the one that you connected to."
            )
        if not (is_loopback(host) or host in self._host_names or "*" in self._host_names):
            told = f"Host {host[:100]!r} is not served here."
            return HttpRejection(421, f"{told} Use localhost or 127.0.0.1, or have the operator add the name.")
        origin = headers.get(b"origin")
        if origin is None:
            return None
        text = origin.decode("latin-1").strip().lower()
        if text in self._origin_names or is_loopback(_origin_host(text)):
            return None
        # The gateway's own pages, under the very name and port that was let in above.
        if text in (f"http://{given.lower()}", f"https://{given.lower()}"):
            return None
        return HttpRejection(403, f"Origin {text[:100]!r} may not call this gateway. Have the operator add it.")

    def _check_body_headers(self, headers: dict[bytes, bytes]) -> HttpRejection | None:
        kind = headers.get(b"content-type", b"").decode("latin-1").partition(";")[0].strip().lower()
        if kind != JSON_TYPE:
            return HttpRejection(415, f"Content-Type is {kind[:100]!r}. Send {JSON_TYPE}.")
        if headers.get(b"content-encoding", b"identity").strip().lower() != b"identity":
            return HttpRejection(
                415, "Compressed requests are not taken. Send the body as it is, without Content-Encoding."
            )
        if not {JSON_TYPE, EVENT_STREAM_TYPE} <= accepted_media_types(headers.get(b"accept", b"").decode("latin-1")):
            return HttpRejection(406, f"Accept must name both kinds of answer: {JSON_TYPE}, {EVENT_STREAM_TYPE}.")
        length = headers.get(b"content-length", b"0").strip()
        if not length.isdigit():
            return HttpRejection(400, "Content-Length is not a number.")
        return self.body_too_large() if int(length[:20]) > self.max_body_bytes else None

    def body_too_large(self) -> HttpRejection:
        return HttpRejection(
            STATUS_TOO_LARGE,
            f"The body is larger than {self.max_body_bytes} bytes. Send less at once, or pass a reference instead.",
            headers=CLOSE_HEADERS,
        )


def is_sdk_header(name: bytes) -> bool:
    """Whether a header says something to the SDK, which takes our word for who calls."""
    return (name in SINGLE_HEADERS and name != b"authorization") or name.startswith(b"mcp-")


def duplicate_header_rejection(name: bytes) -> HttpRejection:
    return HttpRejection(400, f"The header {name.decode('latin-1')} is given more than once. Send it once.")


def host_name(text: str) -> str:
    """The name in a Host header, without port, in lower case; empty for what is no such header."""
    found = _HOST_PATTERN.fullmatch(text.strip().lower())
    return (found["six"] or found["name"].rstrip(".")) if found else ""


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def accepted_media_types(header: str) -> set[str]:
    """Which of the two kinds of answer an Accept header takes."""
    kinds = {part.partition(";")[0].strip().lower() for part in header.split(",")}
    wild = {JSON_TYPE: {"*/*", "application/*", JSON_TYPE}, EVENT_STREAM_TYPE: {"*/*", "text/*", EVENT_STREAM_TYPE}}
    return {kind for kind, names in wild.items() if names & kinds}


def is_modern(version: str | None) -> bool:
    """Whether a request of this version stands for itself. Versions that nobody knows are told so by that era."""
    return version is not None and version not in HANDSHAKE_PROTOCOL_VERSIONS


def _check_method(method: str, headers: dict[bytes, bytes]) -> HttpRejection | None:
    version = headers.get(b"mcp-protocol-version")
    modern = is_modern(None if version is None else version.decode("latin-1").strip())
    takes = HTTP_METHODS[:1] if modern else HTTP_METHODS
    if method in takes:
        return None
    where = "in this version of the protocol" if modern else "here"
    told = f"{method[:20]} is not taken {where}. Use {' or '.join(takes)}."
    return HttpRejection(405, told, headers=((b"allow", ", ".join(takes).encode()),))


def _origin_host(origin: str) -> str:
    try:
        parts = urlsplit(origin)
        return host_name(parts.netloc) if parts.scheme in ("http", "https") else ""
    except ValueError:
        return ""


# What makes a request too much to be read at all, told from its bytes: nothing is built to find out.

SMALL_BODY_BYTES: Final = 65_536
"""Bytes of a request that is read without a further look."""

MAX_INITIALIZE_BYTES: Final = 65_536
"""Bytes of the params of initialize: capabilities and client info are kept for as long as the session lasts."""

_NON_CALL_DIVISOR: Final = 10
"""Arguments of a tool may have so many times the values of what any other method has a use for."""


class _MessageHead(msgspec.Struct):
    id: msgspec.Raw = msgspec.Raw(b"null")
    method: str = ""
    params: msgspec.Raw = msgspec.Raw(b"")


_decode_head: Final = msgspec.json.Decoder(_MessageHead).decode
_DECODE_ERRORS: Final = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


@dataclass(frozen=True)
class InitializeTooLarge:
    """An initialize that says too much about its client."""

    id: str | int | None

    @property
    def why(self) -> str:
        return (
            f"The params of initialize are larger than {MAX_INITIALIZE_BYTES} bytes, and capabilities and "
            "clientInfo are "
            "kept for as long as the session lasts. Send shorter ones."
        )


@dataclass(frozen=True)
class TooManyValues:
    """A request of too many values, each list and object counted as well."""

    id: str | int | None
    method: str
    max_values: int

    @property
    def why(self) -> str:
        what = "The request" if not self.method else f"The request {self.method[:60]!r}"
        remedy = "Send less at once, send what is large as one text, or have the operator raise gateway.max_values"
        return (
            f"{what} has more than {self.max_values} values, counting each list and object. {remedy} in pegboard.yaml."
        )


def find_excess(body: bytes, max_values: int) -> InitializeTooLarge | TooManyValues | None:
    """The first thing that is too much. For a large body beside the event loop, because it takes some milliseconds."""
    if len(body) <= SMALL_BODY_BYTES:
        return None
    try:
        found = _decode_head(body)
    except _DECODE_ERRORS:
        # It is refused by a reader, which should not have to build all of it first.
        return TooManyValues(None, "", max_values) if has_more_values_than(max_values, body) else None
    id = _decode_id(bytes(found.id))
    if found.method == "initialize" and len(bytes(found.params)) > MAX_INITIALIZE_BYTES:
        return InitializeTooLarge(id)
    most = max_values if found.method == "tools/call" else max(max_values // _NON_CALL_DIVISOR, 1)
    return TooManyValues(id, found.method, most) if has_more_values_than(most, body) else None


def _decode_id(raw: bytes) -> str | int | None:
    if len(raw) > SMALL_BODY_BYTES:
        return None
    id = msgspec.json.decode(raw)
    return id if isinstance(id, str | int) and not isinstance(id, bool) else None


# The body of a request: read whole, or read past when it is too large, so that its client gets to hear why.


async def read_body(receive: "Receive", door: RequestChecks) -> bytes | HttpRejection | None:
    """The body, when it is one readable message; `None` when the client left before it had sent all of it."""
    parts: list[bytes] = []
    size = 0
    more = True
    with anyio.move_on_after(door.client_timeout_s) as waiting:
        while more and size <= door.max_body_bytes:
            message = await receive()
            if message["type"] != "http.request":
                return None
            parts.append(message.get("body", b""))
            more = message.get("more_body", False)
            size += len(parts[-1])
    if waiting.cancelled_caught:
        return body_timeout(door)
    if size > door.max_body_bytes:
        parts.clear()
        return (
            await _discard_body(receive, door, door.body_too_large(), size)
            if more
            else _without_close(door.body_too_large())
        )
    body = b"".join(parts)
    if len(body) > door.max_values and (refused := await to_thread.run_sync(door.check_value_count, body)) is not None:
        return refused
    if len(body) <= SMALL_BODY_BYTES:
        value = parse_strict_json(body)
    else:
        match await to_thread.run_sync(find_excess, body, door.max_values):
            case InitializeTooLarge() as opening:
                return HttpRejection(400, opening.why, INVALID_PARAMS, id=opening.id)
            case TooManyValues() as values:
                return HttpRejection(413, values.why, INVALID_PARAMS, id=values.id)
        value = await to_thread.run_sync(_parse_large, body)
    if isinstance(value, UnreadableJson):
        if value.id is not None:
            return HttpRejection(400, describe_unreadable(value), INVALID_PARAMS, id=value.id)
        return HttpRejection(400, f"The body cannot be read as JSON: {value.why}. Correct it.", PARSE_ERROR)
    if not isinstance(value, dict):
        return HttpRejection(400, "The body is not one JSON-RPC message. Send each message in a request of its own.")
    return body


def _parse_large(body: bytes) -> "Json | UnreadableJson":
    with pause_garbage_collection():
        return parse_strict_json(body)


def body_timeout(door: RequestChecks) -> HttpRejection:
    return HttpRejection(
        408, f"No body within {door.client_timeout_s:g} seconds. Send the request again.", headers=CLOSE_HEADERS
    )


async def reject_after_body(
    receive: "Receive", door: RequestChecks, headers: Mapping[bytes, bytes], refused: HttpRejection
) -> HttpRejection:
    """The refusal of a body that says it is too large, once that body has passed.

    A client that asked first has sent nothing yet, and to read would be to tell it to go ahead.
    """
    if b"expect" in headers or int(headers[b"content-length"][:20]) > door.max_discarded_bytes:
        return refused
    return await _discard_body(receive, door, refused, 0)


async def _discard_body(receive: "Receive", door: RequestChecks, refused: HttpRejection, size: int) -> HttpRejection:
    """Clients that still send when the connection closes see it break, and never read the answer."""
    with anyio.move_on_after(door.client_timeout_s):
        while size <= door.max_discarded_bytes:
            message = await receive()
            if message["type"] != "http.request":
                break
            if not message.get("more_body", False):
                return _without_close(refused)
            size += len(message.get("body", b""))
    return refused


def _without_close(refused: HttpRejection) -> HttpRejection:
    return replace(refused, headers=())


# An error of JSON-RPC in place of the answer to a request that is not served.


async def send_rejection(send: "Send", refused: HttpRejection) -> None:
    error = {"code": refused.code, "message": sanitize_text(refused.message)}
    body = json.dumps({"jsonrpc": "2.0", "id": refused.id, "error": error}, separators=(",", ":")).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", b"%d" % len(body)),
        *refused.headers,
    ]
    await send({"type": "http.response.start", "status": refused.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
