"""What a request is for: the forms that the target in its first line may have, and the path that it names."""

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

HAS_FRAGMENT: Final = "The address in the request has a fragment. Send it without what stands behind '#'."
FOREIGN_TARGET: Final = "The address in the request is none of this gateway. Send a path, or a whole http:// address."
_ABSOLUTE_FORM: Final = re.compile(rb"https?://(?P<host>[^/?@]+)(?P<path>/[^?]*)?(?P<query>\?.*)?", re.IGNORECASE)
_ENCODED_SLASH: Final = re.compile(rb"%(2[fF])")


@dataclass(frozen=True, slots=True)
class RequestTarget:
    path: bytes
    """And query."""
    host: bytes | None = None
    """Where it is named here, Host says nothing (RFC 9112, 3.2.2)."""


def parse_target(text: bytes) -> RequestTarget | str:
    """Or why it is none, and what to do."""
    if b"#" in text:
        return HAS_FRAGMENT
    if text[:1] == b"/" or text == b"*":
        return RequestTarget(text)
    found = _ABSOLUTE_FORM.fullmatch(text)
    if found is None:
        return FOREIGN_TARGET
    return RequestTarget((found["path"] or b"/") + (found["query"] or b""), found["host"])


def decode_path(raw: bytes) -> str:
    """A slash that is written as %2F is part of a name and parts none."""
    return unquote(_ENCODED_SLASH.sub(rb"%25\1", raw).decode("ascii"))
