"""Values of which the driver makes less than they are, asked for as DuckDB itself writes them and takes them back.

Its intervals come as days and less, though a month is not thirty of them, and its nanoseconds without the last three
digits; alike where they lie in lists, structures and maps.
"""

import re
from collections.abc import Sequence
from typing import Final

_LESS: Final = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|\b(?P<kind>INTERVAL|TIMESTAMP_NS|TIME_NS)(?=[,)\[]|$)""")
"""In the name of a type; not in the name of a field or of a choice."""
_END: Final = re.compile(r";(?:[\s;]|--[^\n]*|/\*.*?\*/)*\Z", re.DOTALL)


def _as_text(kind: str) -> str:
    return _LESS.sub(lambda found: "VARCHAR" if found["kind"] else found.group(), kind)


def asked_exactly(statement: str, types: Sequence[str]) -> str | None:
    """The same rows with such values as text; `None` where there are none."""
    wanted = [_as_text(each) for each in types]
    if wanted == [*types]:
        return None
    columns = ", ".join(
        f"#{place}" if kind == each else f"CAST(#{place} AS {kind})"
        for place, (kind, each) in enumerate(zip(wanted, types, strict=True), 1)
    )
    return f"SELECT {columns} FROM ({_END.sub('', statement)}\n)"  # noqa: S608 - the statement was judged, and is no more than a part of this one
