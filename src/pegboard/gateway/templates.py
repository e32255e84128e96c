"""Whether a URI has the form of a URI template (RFC 6570), to find the server that answers for it."""

from functools import lru_cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from mcp.shared.uri_template import UriTemplate

MAX_URI_CHARS: Final = 65_536


def fits_template(template: str, uri: str) -> bool:
    """A template that is beyond us is held against a URI by what it begins and ends with."""
    if len(uri) > MAX_URI_CHARS:
        return False
    read = _parse_template(template)
    if read is not None:
        return read.match(uri, max_uri_length=MAX_URI_CHARS) is not None
    begin, _, rest = template.partition("{")
    end = rest.rpartition("}")[2]
    return bool(begin) and len(uri) >= len(begin) + len(end) and uri.startswith(begin) and uri.endswith(end)


@lru_cache(maxsize=4096)
def _parse_template(template: str) -> "UriTemplate | None":
    # The SDK takes its time to load, and most commands never ask.
    from mcp.shared.uri_template import InvalidUriTemplate, UriTemplate

    try:
        return UriTemplate.parse(template)
    except InvalidUriTemplate:
        return None
