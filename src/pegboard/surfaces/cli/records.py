"""One record of the activity as a person reads it: as a line of a table, and in full."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from .text import one_line

MARKS: Final[Mapping[str, str]] = {"returned": "●", "done": "●"}
"""What went as it was asked for; everything else is marked as not."""
COLUMNS: Final = ("ID", "WHEN", "KIND", "WHO", "WHAT", "OUTCOME", "TOOK", "TOKENS")


def record_row(record: Mapping[str, Any]) -> tuple[str, ...]:
    tokens = (record["argumentTokens"], record["resultTokens"])
    what = record["about"] or record["name"] or ""
    # Of a call the outcome says enough; a decision is nothing without its words.
    if record["tookMs"] is None and record["said"]:
        what = f"{what} {record['said']}".strip()
    return (
        str(record["id"]),
        local_time(record["at"]),
        record["kind"],
        record["principal"],
        what,
        f"{MARKS.get(record['outcome'], '○')} {record['outcome']}",
        "" if record["tookMs"] is None else f"{record['tookMs']:,.1f} ms",
        "" if tokens == (None, None) else f"{tokens[0] or 0} + {tokens[1] or 0}",
    )


def record_text(record: Mapping[str, Any]) -> str:
    lines = [f"{record['id']}  {record['kind']}  {record['outcome']}"]
    for label, key, shown in _FIELDS:
        if record[key] not in (None, ""):
            lines.append(f"  {label + ':':<16}{shown(record[key])}")
    texts = [f"\n{label}, redacted:\n{record[label]}" for label in ("arguments", "result") if record[label] is not None]
    return "\n".join([*lines, *texts])


def local_time(at: str) -> str:
    return datetime.fromisoformat(at).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def _local_and_utc(at: str) -> str:
    moment = datetime.fromisoformat(at)
    return f"{moment.astimezone().isoformat(' ', 'milliseconds')} ({moment.astimezone(UTC):%H:%M:%S} UTC)"


_FIELDS: Final[tuple[tuple[str, str, Callable[[Any], str]], ...]] = (
    ("when", "at", _local_and_utc),
    ("who", "principal", one_line),
    ("client", "client", one_line),
    ("about", "about", one_line),
    ("called as", "name", one_line),
    ("shown by", "presentation", str),
    ("said", "said", one_line),
    ("policy version", "policyVersion", str),
    ("took", "tookMs", lambda took: f"{took:,.3f} ms"),
    ("arguments", "argumentBytes", lambda size: f"{size:,} bytes"),
    ("", "argumentTokens", lambda tokens: f"about {tokens:,} tokens"),
    ("result", "resultBytes", lambda size: f"{size:,} bytes"),
    ("", "resultTokens", lambda tokens: f"about {tokens:,} tokens"),
    ("call", "callId", str),
    ("within", "parentId", str),
)
