"""The door of the HTTP endpoint: who may knock from where, with what kind of request. It reads headers only."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

from pegboard.core.nesting import MAX_VALUES, has_more_values_than
from pegboard.gateway.access.proxies import TrustedProxies

from .protocol import HANDSHAKE_PROTOCOL_VERSIONS, INVALID_PARAMS, INVALID_REQUEST

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
            "what is large as one text, or have the operator raise gateway.most_values in pegboard.yaml.",
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
