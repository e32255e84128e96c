"""The addresses of DocSpace's API: paths and queries, as recorded byte for byte."""

from collections.abc import Mapping
from typing import Final
from urllib.parse import quote_plus

from pegboard.core.tool import Json

from .javascript import number, plain, utf8

API: Final = "api/2.0/"


def path(*steps: str | float) -> str:
    """`files/file/101`: numbers are written as JavaScript writes them."""
    return API + "/".join(step if isinstance(step, str) else number(step) for step in steps)


def query(filters: Mapping[str, Json]) -> str:
    """Members in their order, lists as the same name again, nothing at all for an empty list."""
    pairs = [
        f"{_quoted(name)}={_quoted(plain(one))}"
        for name, value in filters.items()
        for one in (value if isinstance(value, list) else [value])
    ]
    return "&".join(pairs)


def address(base: str, at: str, filters: Mapping[str, Json] | None = None) -> str:
    asked = query(filters) if filters else ""
    return f"{base}{at}?{asked}" if asked else f"{base}{at}"


def _quoted(text: str) -> str:
    return quote_plus(utf8(text), safe="*").replace("~", "%7E")
