"""What a person reads before they decide on a tool, as text: the difference, the risk notes, and what to type then."""

import json
from collections.abc import Iterator
from typing import Any, Final

from pegboard.core.characters import escape_strictly

from .text import one_line, shell_quote
from .why import verdict_line

MARKS: Final = {"added": "+", "removed": "-", "changed": "~"}
RISK_MARKS: Final = {"hard": "✗", "soft": "!"}
MAX_CHARS: Final = 20_000
"""Characters of a text that is shown whole. Whoever writes more does not want to be read."""


def review_text(body: dict[str, Any]) -> str:
    """One tool: what differs since it was approved, or all of it if it never was; and what looks wrong."""
    return escape_strictly("\n".join(_review_lines(body)))


def _review_lines(body: dict[str, Any]) -> Iterator[str]:
    yield one_line(body["id"])
    yield f"  {body['kind']}; {verdict_line(body)}"
    if approval := body["approval"]:
        yield f"  last approved by {approval['by']} on {approval['at'][:10]}"
    if body["kind"] == "changed":
        for section in body["difference"]:
            yield f"\n{section['section']}"
            yield from _section_lines(section)
    else:
        yield from _tool_lines(body)
    yield ""
    yield from risk_lines(body["notes"], body["cautions"])
    yield f"\nfingerprint  {body['fingerprint']}"


def next_steps(body: dict[str, Any]) -> str:
    """A server chooses its tools' names, so an id is quoted: what is copied into a shell must do nothing else."""
    id = shell_quote(body["id"])
    return (
        f"Approve it exactly so:  pegboard approvals approve {id} --fingerprint {body['fingerprint']}\n"
        f"Keep it locked:         pegboard approvals block {id}"
    )


def risk_lines(notes: list[dict[str, Any]], cautions: list[str]) -> Iterator[str]:
    yield "risk"
    for caution in cautions:
        yield f"  ! {one_line(caution)}"
    if not notes:
        yield "  · The scanner recognised no attack that it knows. It cannot tell that a tool is safe: read it."
    for note in notes:
        quoted = f"  ⟨{note['excerpt']}⟩" if note["excerpt"] else ""
        yield (
            f"  {RISK_MARKS[note['severity']]} {note['severity']}  {one_line(note['sentence'])}  {note['path']}{quoted}"
        )


def _section_lines(section: dict[str, Any]) -> Iterator[str]:
    if section["words"]:
        yield f"  {_pieces_text(section['words'])}"
    for change in section["changes"]:
        yield f"  {MARKS[change['how']]} {change['path']}"
        if change["words"]:
            yield f"      {_pieces_text(change['words'])}"
        else:
            yield f"      {_change_text(change)}"
    if section["more"]:
        yield f"  … and {section['more']:,} more changes"


def _change_text(change: dict[str, Any]) -> str:
    if change["before"] is None and change["after"] is None:
        return one_line(change["sentence"])
    match change["how"]:
        case "added":
            return str(change["after"])
        case "removed":
            return str(change["before"])
        case _:
            return f"{change['before']}  →  {change['after']}"


def _pieces_text(pieces: list[dict[str, Any]]) -> str:
    signs = {"kept": ("", ""), "removed": ("[-", "-]"), "added": ("{+", "+}")}
    return "".join(f"{signs[piece['how']][0]}{piece['text']}{signs[piece['how']][1]}" for piece in pieces)


def _tool_lines(body: dict[str, Any]) -> Iterator[str]:
    if body["title"]:
        yield f"\ntitle\n  {_truncate(body['title'], body)}"
    yield f"\ndescription\n{_truncate(body['description'], body) or '  (none)'}"
    for key in ("inputSchema", "outputSchema", "annotations"):
        if body[key] is not None:
            yield f"\n{key}\n{_truncate(json.dumps(body[key], indent=2, ensure_ascii=False), body)}"


def _truncate(text: str, body: dict[str, Any]) -> str:
    if len(text) <= MAX_CHARS:
        return text
    rest = f"… [{len(text) - MAX_CHARS:,} more characters are not shown. All of it: pegboard tools show "
    return f"{text[:MAX_CHARS]}{rest}{shell_quote(body['id'])}]"
