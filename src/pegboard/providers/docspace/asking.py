"""The addresses of DocSpace's API: paths and queries, as recorded byte for byte."""

from collections.abc import Mapping
from typing import Final
from urllib.parse import quote_plus

from pegboard.core.tool import Json

from .javascript import encode_utf8, format_number, format_value

API_PATH: Final = "api/2.0/"


def api_path(*steps: str | float) -> str:
    """`files/file/101`: numbers are written as JavaScript writes them."""
    return API_PATH + "/".join(step if isinstance(step, str) else format_number(step) for step in steps)


def query_string(filters: Mapping[str, Json]) -> str:
    """Members in their order, lists as the same name again, nothing at all for an empty list."""
    pairs = [
        f"{_quote(name)}={_quote(format_value(one))}"
        for name, value in filters.items()
        for one in (value if isinstance(value, list) else [value])
    ]
    return "&".join(pairs)


def api_url(base: str, at: str, filters: Mapping[str, Json] | None = None) -> str:
    asked = query_string(filters) if filters else ""
    return f"{base}{at}?{asked}" if asked else f"{base}{at}"


def _quote(text: str) -> str:
    return quote_plus(encode_utf8(text), safe="*").replace("~", "%7E")
