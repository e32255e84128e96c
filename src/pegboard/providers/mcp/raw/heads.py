"""The heads of HTTP requests to one server: encoded once, since little in them differs from call to call."""

from base64 import b64encode
from collections.abc import Mapping
from typing import Final

import httpx2
from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import MCP_METHOD_HEADER, MCP_NAME_HEADER, MCP_PROTOCOL_VERSION_HEADER, encode_header_value

from pegboard import __version__
from pegboard.core.headers import is_transport_header
from pegboard.providers.mcp.authorization import Authorization
from pegboard.providers.mcp.http_client import UNSENDABLE_CHARACTERS
from pegboard.providers.mcp.trouble import NOT_SENT

_MAX_CACHED_HEADS: Final = 20_000


class RequestHeadEncoder:
    def __init__(
        self,
        url: httpx2.URL,
        declared: Mapping[str, str],
        protocol_version: str,
        session: str | None,
        modern: bool,
        authorization: Authorization | None = None,
    ) -> None:
        self._path = url.raw_path
        self._is_modern = modern
        self._authorization = authorization
        self.authorization_headers: Mapping[str, str] = {}
        """What the credentials said for the last head. They win over the declared headers."""
        self._declared_headers = {
            "host": url.netloc.rpartition(b"@")[2].decode("ascii"),
            "user-agent": f"pegboard/{__version__}",
        }
        self._declared_headers |= {
            name.lower(): value for name, value in declared.items() if not is_transport_header(name)
        }
        if url.username or url.password:
            known = b64encode(f"{url.username}:{url.password}".encode()).decode("ascii")
            self._declared_headers["authorization"] = f"Basic {known}"
        self._fixed_headers = {
            "accept": "application/json, text/event-stream",
            # Decompressing costs the event loop more than the bytes cost the network.
            "accept-encoding": "identity",
            MCP_PROTOCOL_VERSION_HEADER: protocol_version,
        }
        if session is not None:
            self._fixed_headers["mcp-session-id"] = session
        self._cache: dict[str, bytes] = {}

    def call_head(self, tool: str, params: Mapping[str, str]) -> bytes:
        """For `tools/call`, up to the number of its bytes. `params` are arguments that the tool wants in headers."""
        self._refresh_authorization()
        head = self._cache.get(tool)
        if head is None:
            named = {MCP_METHOD_HEADER: "tools/call", MCP_NAME_HEADER: encode_header_value(tool)}
            if len(self._cache) >= _MAX_CACHED_HEADS:
                self._cache.clear()
            head = self._cache[tool] = self._post_head(named if self._is_modern else {})
        if params:
            # Before the last line, which waits for its number.
            lines = b"".join(b"%s: %s\r\n" % (name.encode(), value.encode()) for name, value in params.items())
            return head.removesuffix(_CONTENT_LENGTH) + lines + _CONTENT_LENGTH
        return head

    def message_head(self) -> bytes:
        """For an answer or a notification, up to the number of its bytes."""
        self._refresh_authorization()
        return self._post_head({})

    def resume_head(self, last: bytes) -> bytes:
        """For the rest of an event stream after this event, whole."""
        self._refresh_authorization()
        told = {"accept": "text/event-stream", "last-event-id": last.decode("latin-1")}
        return b"GET " + self._path + b" HTTP/1.1\r\n" + self._header_lines(told) + b"\r\n"

    def _refresh_authorization(self) -> None:
        if self._authorization is not None and (now := self._authorization.headers()) != self.authorization_headers:
            self.authorization_headers = now
            self._cache.clear()

    def _post_head(self, more: Mapping[str, str]) -> bytes:
        told = {"content-type": "application/json", **more}
        return b"POST " + self._path + b" HTTP/1.1\r\n" + self._header_lines(told) + _CONTENT_LENGTH

    def _header_lines(self, more: Mapping[str, str]) -> bytes:
        now = {name.lower(): value for name, value in self.authorization_headers.items()}
        every = {**self._declared_headers, **now, **self._fixed_headers, **more}
        for name, value in every.items():
            # Declared values were looked at when the connection was opened; renewed ones come from a server.
            if UNSENDABLE_CHARACTERS.search(value) or not value.isascii():
                raise MCPError(NOT_SENT, f"was not asked: the value of the header {name!r} cannot be sent")
        return "".join(f"{name}: {value}\r\n" for name, value in every.items()).encode("ascii")


_CONTENT_LENGTH: Final = b"content-length: "
