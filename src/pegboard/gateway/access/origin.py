"""Whether a request that a browser made carries proof that a page of the gateway's own made it.

A cookie is no such proof: it is sent for the pages of every other port of the same machine as well.
"""

from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

SAFE_METHODS: Final = frozenset({"GET", "HEAD"})


def is_same_origin(method: str, headers: Mapping[bytes, bytes], own: str) -> bool:
    """`own` is the origin under which the browser knows the gateway.

    Browsers say by themselves where a request comes from. One that says nothing may look, as whoever types an address
    does; its answers can be read by no other page.
    """
    said = headers.get(b"sec-fetch-site")
    origin = headers.get(b"origin")
    if origin is not None and origin.decode("latin-1").strip().lower() != own:
        return False
    if said is not None:
        site = said.strip().lower()
        return site == b"same-origin" or (site == b"none" and method in SAFE_METHODS)
    return origin is not None or method in SAFE_METHODS


def own_origin(host: str, public: str | None, *, https: bool = False) -> str:
    """Under which origin a browser that sent this Host knows the gateway; `public` is the URL the operator named."""
    name = host.strip().lower()
    if public is not None:
        parts = urlsplit(public.lower())
        if _without_default(parts.netloc, parts.scheme) == _without_default(name, parts.scheme):
            return f"{parts.scheme}://{_without_default(parts.netloc, parts.scheme)}"
    scheme = "https" if https else "http"
    return f"{scheme}://{_without_default(name, scheme)}"


def _without_default(netloc: str, scheme: str) -> str:
    return netloc.removesuffix(":443" if scheme == "https" else ":80")
