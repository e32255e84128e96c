"""What a request is for: the forms that the target in its first line may have, and the path that it names."""

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

FRAGMENT: Final = "The address in the request has a fragment. Send it without what stands behind '#'."
FOREIGN: Final = "The address in the request is none of this gateway. Send a path, or a whole http:// address."
_ABSOLUTE: Final = re.compile(rb"https?://(?P<host>[^/?@]+)(?P<path>/[^?]*)?(?P<query>\?.*)?", re.IGNORECASE)
_SLASH: Final = re.compile(rb"%(2[fF])")


@dataclass(frozen=True, slots=True)
class Target:
    path: bytes
    """And query."""
    host: bytes | None = None
    """Where it is named here, Host says nothing (RFC 9112, 3.2.2)."""


def target_of(text: bytes) -> Target | str:
    """Or why it is none, and what to do."""
    if b"#" in text:
        return FRAGMENT
    if text[:1] == b"/" or text == b"*":
        return Target(text)
    found = _ABSOLUTE.fullmatch(text)
    if found is None:
        return FOREIGN
    return Target((found["path"] or b"/") + (found["query"] or b""), found["host"])


def path_of(raw: bytes) -> str:
    """A slash that is written as %2F is part of a name and parts none."""
    return unquote(_SLASH.sub(rb"%25\1", raw).decode("ascii"))
