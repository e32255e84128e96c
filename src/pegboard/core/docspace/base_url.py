"""Where a DocSpace is: an http or https URL that everything else is taken from."""

import re
from typing import Final
from urllib.parse import urlsplit

_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_HOST: Final = re.compile(r"[^\s/\\?#@:\[\]<>^|%\"{}]+|[0-9A-Fa-f:.]+")
_USERINFO: Final = re.compile(r"(//)[^/?#]*@")
_PORTS: Final = {"http": 80, "https": 443}
_MAX_URL_CHARS: Final = 200


def base_url_problems(text: str, written: str = "") -> tuple[str, ...]:
    """What keeps a text from being a base URL; nothing where it is one. A password that stands in it is not told.

    `written` is the text before its references were resolved. If given, it is quoted instead of the text.
    """
    shown = _USERINFO.sub(r"\1…@", written or text)[:_MAX_URL_CHARS]
    if not _SCHEME.match(text):
        return (f"Expected a valid URL, but got {shown}",)
    try:
        split = urlsplit(text)
        host, port = split.hostname, split.port
    except ValueError:
        return (f"Expected a valid URL, but got {shown}",)
    if split.scheme not in ("http", "https"):
        return (f"Expected a URL that begins with http:// or https://, but got {shown}",)
    if not host or port == 0 or _HOST.fullmatch(host) is None or any(c.isspace() or not c.isprintable() for c in text):
        return (f"Expected a valid URL, but got {shown}",)
    faults: list[str] = []
    if "@" in split.netloc:
        faults.append(f"Expected a URL without a user name or password, but got {shown}")
    if "?" in text.partition("#")[0]:
        faults.append(f"Expected a URL without search parameters, but got {shown}")
    if "#" in text:
        faults.append(f"Expected a URL without hash, but got {shown}")
    return tuple(faults)


def normalize_base_url(text: str) -> str:
    """The same place in one spelling, with a slash at the end: for a text without faults."""
    split = urlsplit(text)
    name = split.hostname or ""
    host = f"[{name}]" if ":" in name else name
    port = "" if split.port in (None, _PORTS[split.scheme]) else f":{split.port}"
    path = split.path if split.path.endswith("/") else f"{split.path}/"
    return f"{split.scheme}://{host}{port}{path}"
