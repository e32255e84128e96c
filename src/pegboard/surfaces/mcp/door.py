"""The door of the HTTP endpoint: who may knock from where, with what kind of request. It reads headers only."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

from pegboard.core.nesting import MOST_VALUES, more_values_than
from pegboard.gateway.access.proxies import Proxies

from .protocol import HANDSHAKE_PROTOCOL_VERSIONS, INVALID_PARAMS, INVALID_REQUEST

METHODS: Final = ("POST", "GET", "DELETE")
ONCE: Final = frozenset(
    {
        *(b"host", b"origin", b"authorization"),
        *(b"content-type", b"content-length", b"content-encoding", b"accept"),
        *(b"mcp-session-id", b"mcp-protocol-version", b"mcp-method", b"mcp-name"),
    }
)
"""Given twice, two readers on the way could each take another one."""

TOO_LARGE: Final = 413
_HOST: Final = re.compile(r"(?:\[(?P<six>[0-9a-f:.]+)\]|(?P<name>[^\s:/?#@\[\]\\]+))(?::[0-9*]{0,5})?")
CLOSE: Final = ((b"connection", b"close"),)
JSON: Final = "application/json"
EVENTS: Final = "text/event-stream"


@dataclass(frozen=True)
class Refused:
    """An answer in place of the request's own. The message says what to do."""

    status: int
    message: str
    code: int = INVALID_REQUEST
    headers: tuple[tuple[bytes, bytes], ...] = ()
    id: str | int | None = None
    """Of the request that is refused, where so much of it could be read."""


@dataclass(frozen=True)
class Door:
    """Loopback names are always let in. Behind a name of your own, name it here."""

    hosts: frozenset[str] = frozenset()
    """Names under which clients may address the gateway, without port; `*` for any."""
    origins: frozenset[str] = frozenset()
    """Web pages that may call it, as their origin: `https://app.example`."""
    proxies: Proxies = Proxies()  # noqa: RUF009  it is frozen, like all of this
    """Whose word on the address of a client is taken."""
    largest_body: int = 10 * 1024 * 1024
    most_values: int = MOST_VALUES
    """In the body of one request: a few bytes each, they would hold up everybody else while they are read."""
    most_discarded: int = 64 * 1024 * 1024
    """Bytes of a body that is too large which are read all the same, so that its client hears why."""
    sessions: int = 5_000
    sessions_of_one: int = 500
    """Of one principal with a token of its own, so that none shuts the others out."""
    idle: float = 30 * 60.0
    """Seconds after which a session without any request ends."""
    patience: float = 60.0
    """Seconds to wait for a client that neither sends the rest of its request nor reads its answer."""
    settle: float = 3.0
    """Seconds that a name nobody knows may take to become known while servers are still starting."""

    def too_many(self, body: bytes) -> Refused | None:
        """The reason not to read a body: beside the event loop, if it is large."""
        if not more_values_than(self.most_values, body):
            return None
        return Refused(
            413,
            f"The body has more than {self.most_values} values, counting each list and object. Send less at once, send "
            "what is large as one text, or have the operator raise gateway.most_values in pegboard.yaml.",
            INVALID_PARAMS,
        )

    @cached_property
    def _hosts(self) -> frozenset[str]:
        return frozenset(host_of(host) for host in self.hosts)

    @cached_property
    def _origins(self) -> frozenset[str]:
        return frozenset(origin.lower().rstrip("/") for origin in self.origins)

    def address_refusal(self, given: Iterable[tuple[bytes, bytes]]) -> Refused | None:
        """The reason not to serve whoever addresses this machine so, whatever it asks for."""
        headers: dict[bytes, bytes] = {}
        for name, value in given:
            if name in (b"host", b"origin") and name in headers:
                return given_twice(name)
            headers[name] = value
        return self._address(headers)

    def refusal(self, method: str, given: Iterable[tuple[bytes, bytes]]) -> Refused | None:
        """The first reason not to serve a request with these headers; a rebound name is turned away before all else."""
        headers: dict[bytes, bytes] = {}
        for name, value in given:
            if name in ONCE and name in headers:
                return given_twice(name)
            headers[name] = value
        return self._address(headers) or _method(method, headers) or (self._body(headers) if method == "POST" else None)

    def _address(self, headers: dict[bytes, bytes]) -> Refused | None:
        if b"host" not in headers:
            return Refused(400, "The request does not say whom it is for. Send it with a Host header.")
        given = headers[b"host"].decode("latin-1").strip()
        host = host_of(given)
        if given and not host:
            return Refused(400, f"Host {given[:100]!r} is no name with a port. Send the one that you connected to.")
        if not (is_loopback(host) or host in self._hosts or "*" in self._hosts):
            told = f"Host {host[:100]!r} is not served here."
            return Refused(421, f"{told} Use localhost or 127.0.0.1, or have the operator add the name.")
        origin = headers.get(b"origin")
        if origin is None:
            return None
        text = origin.decode("latin-1").strip().lower()
        if text in self._origins or is_loopback(_origin_host(text)):
            return None
        # The gateway's own pages, under the very name and port that was let in above.
        if text in (f"http://{given.lower()}", f"https://{given.lower()}"):
            return None
        return Refused(403, f"Origin {text[:100]!r} may not call this gateway. Have the operator add it.")

    def _body(self, headers: dict[bytes, bytes]) -> Refused | None:
        kind = headers.get(b"content-type", b"").decode("latin-1").partition(";")[0].strip().lower()
        if kind != JSON:
            return Refused(415, f"Content-Type is {kind[:100]!r}. Send {JSON}.")
        if headers.get(b"content-encoding", b"identity").strip().lower() != b"identity":
            return Refused(415, "Compressed requests are not taken. Send the body as it is, without Content-Encoding.")
        if not {JSON, EVENTS} <= accepted(headers.get(b"accept", b"").decode("latin-1")):
            return Refused(406, f"Accept must name both kinds of answer: {JSON}, {EVENTS}.")
        length = headers.get(b"content-length", b"0").strip()
        if not length.isdigit():
            return Refused(400, "Content-Length is not a number.")
        return self.too_large() if int(length[:20]) > self.largest_body else None

    def too_large(self) -> Refused:
        return Refused(
            TOO_LARGE,
            f"The body is larger than {self.largest_body} bytes. Send less at once, or pass a reference instead.",
            headers=CLOSE,
        )


def is_read_there(name: bytes) -> bool:
    """Whether a header says something to the SDK, which takes our word for who calls."""
    return (name in ONCE and name != b"authorization") or name.startswith(b"mcp-")


def given_twice(name: bytes) -> Refused:
    return Refused(400, f"The header {name.decode('latin-1')} is given more than once. Send it once.")


def host_of(text: str) -> str:
    """The name in a Host header, without port, in lower case; empty for what is no such header."""
    found = _HOST.fullmatch(text.strip().lower())
    return (found["six"] or found["name"].rstrip(".")) if found else ""


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def accepted(header: str) -> set[str]:
    """Which of the two kinds of answer an Accept header takes."""
    kinds = {part.partition(";")[0].strip().lower() for part in header.split(",")}
    wild = {JSON: {"*/*", "application/*", JSON}, EVENTS: {"*/*", "text/*", EVENTS}}
    return {kind for kind, names in wild.items() if names & kinds}


def is_modern(version: str | None) -> bool:
    """Whether a request of this version stands for itself. Versions that nobody knows are told so by that era."""
    return version is not None and version not in HANDSHAKE_PROTOCOL_VERSIONS


def _method(method: str, headers: dict[bytes, bytes]) -> Refused | None:
    version = headers.get(b"mcp-protocol-version")
    modern = is_modern(None if version is None else version.decode("latin-1").strip())
    takes = METHODS[:1] if modern else METHODS
    if method in takes:
        return None
    where = "in this version of the protocol" if modern else "here"
    told = f"{method[:20]} is not taken {where}. Use {' or '.join(takes)}."
    return Refused(405, told, headers=((b"allow", ", ".join(takes).encode()),))


def _origin_host(origin: str) -> str:
    try:
        parts = urlsplit(origin)
        return host_of(parts.netloc) if parts.scheme in ("http", "https") else ""
    except ValueError:
        return ""
