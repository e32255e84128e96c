"""What a failed connection is called: the names that the operating system gives, as today's clients know them."""

import errno
import socket
import ssl
from collections.abc import Iterator

import httpx2


def in_words(error: Exception, url: httpx2.URL) -> str:
    """`connect ECONNREFUSED 127.0.0.1:443`, `getaddrinfo ENOTFOUND docs.example.com`."""
    port = url.port or (443 if url.scheme == "https" else 80)
    at = f"{url.host}:{port}"
    for cause in _causes(error):
        if isinstance(cause, socket.gaierror):
            return f"getaddrinfo ENOTFOUND {url.host}"
        if (
            isinstance(cause, OSError)
            and cause.errno is not None
            and cause.errno in errno.errorcode
            and not isinstance(cause, ssl.SSLError)
        ):
            name = errno.errorcode[cause.errno]
            return f"connect {name} {at}" if isinstance(error, httpx2.ConnectError) else f"read {name}"
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


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        if isinstance(error, BaseExceptionGroup) and error.exceptions:
            error = error.exceptions[0]
        else:
            error = error.__cause__ or error.__context__
