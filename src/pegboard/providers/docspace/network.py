"""What a failed connection is called: the names that the operating system gives, as today's clients know them."""

import errno
import re
import socket
import ssl
from collections.abc import Iterator
from typing import Final

import httpx2

BAD_PORTS: Final = frozenset(
    {
        *(1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109),
        *(110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530),
        *(531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045),
        *(4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080),
    }
)
"""Ports that fetch does not ask, because other protocols live there (Fetch standard, port blocking)."""
_ADDRESS_PATTERN: Final = re.compile(r"\('([^']+)', (\d+)")
"""How asyncio tells which address of a name it tried."""


def describe_network_error(error: Exception, url: httpx2.URL) -> str:
    """`connect ECONNREFUSED 127.0.0.1:443`, `getaddrinfo ENOTFOUND docs.example.com`."""
    port = url.port or (443 if url.scheme == "https" else 80)
    at = f"{url.host}:{port}"
    for cause in _causes(error):
        if isinstance(cause, BaseExceptionGroup) and isinstance(error, httpx2.ConnectError):
            tried = [_describe_attempt(each, at) for each in cause.exceptions if isinstance(each, OSError)]
            if told := [*dict.fromkeys(words for words in tried if words is not None)]:
                return "\n".join(told)
        if isinstance(cause, socket.gaierror):
            return f"getaddrinfo ENOTFOUND {url.host}"
        if (
            isinstance(cause, OSError)
            and cause.errno is not None
            and cause.errno in errno.errorcode
            and not isinstance(cause, ssl.SSLError)
        ):
            name = errno.errorcode[cause.errno]
            if isinstance(error, httpx2.ConnectError):
                return _describe_attempt(cause, at) or f"connect {name} {at}"
            return f"read {name}"
    match error:
        case httpx2.UnsupportedProtocol():
            return "unknown scheme"
        case httpx2.ConnectTimeout():
            return f"connect ETIMEDOUT {at}"
        case httpx2.PoolTimeout():
            return "too many requests are under way. Try again in a moment"
        case httpx2.TimeoutException():
            return f"{at} did not answer in time"
        case httpx2.RemoteProtocolError() | httpx2.ReadError() | httpx2.WriteError():
            return "other side closed"
        case _:
            innermost = [*_causes(error)][-1]
            return " ".join(str(innermost).split()) or type(innermost).__name__


def _describe_attempt(cause: OSError, at: str) -> str | None:
    """One address that was tried; the one that was asked for where the error does not tell it."""
    name = None if cause.errno is None else errno.errorcode.get(cause.errno)
    if name is None or isinstance(cause, socket.gaierror | ssl.SSLError):
        return None
    found = _ADDRESS_PATTERN.search(str(cause))
    return f"connect {name} {at if found is None else f'{found[1]}:{found[2]}'}"


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        if isinstance(error, BaseExceptionGroup) and error.exceptions:
            error = error.exceptions[0]
        else:
            error = error.__cause__ or error.__context__
