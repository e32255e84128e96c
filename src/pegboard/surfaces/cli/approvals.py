"""`pegboard approvals`."""

import json
import shlex
import sys
from collections.abc import Iterator
from typing import Any, Final

import click

from pegboard.core.model.characters import escape_strictly
from pegboard.surfaces.cli.api import ApiClient
from pegboard.surfaces.cli.confirm import ask_yes_no
from pegboard.surfaces.cli.options import call_api, every_server, gateway_command
from pegboard.surfaces.cli.output import Exit, fail, one_line, print_json, print_text, shell_quote, table
from pegboard.surfaces.cli.tools import verdict_line

# What a person reads before they decide on a tool, as text: the difference, the risk notes, and what to type then.

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
    yield from risk_lines(body["findings"], body["cautions"])
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
            f"  {RISK_MARKS[note['severity']]} {note['severity']}  {one_line(note['message'])}  {note['path']}{quoted}"
        )


def _section_lines(section: dict[str, Any]) -> Iterator[str]:
    if section["pieces"]:
        yield f"  {_pieces_text(section['pieces'])}"
    for change in section["changes"]:
        yield f"  {MARKS[change['kind']]} {change['path']}"
        if change["pieces"]:
            yield f"      {_pieces_text(change['pieces'])}"
        else:
            yield f"      {_change_text(change)}"
    if section["omitted"]:
        yield f"  … and {section['omitted']:,} more changes"


def _change_text(change: dict[str, Any]) -> str:
    if change["before"] is None and change["after"] is None:
        return one_line(change["message"])
    match change["kind"]:
        case "added":
            return str(change["after"])
        case "removed":
            return str(change["before"])
        case _:
            return f"{change['before']}  →  {change['after']}"


def _pieces_text(pieces: list[dict[str, Any]]) -> str:
    signs = {"kept": ("", ""), "removed": ("[-", "-]"), "added": ("{+", "+}")}
    return "".join(f"{signs[piece['kind']][0]}{piece['text']}{signs[piece['kind']][1]}" for piece in pieces)


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


MAX_SHOWN: Final = 100
"""Tools of one server that are shown together: nobody reads more in one go."""


@click.group()
def approvals() -> None:
    """Approvals: new and changed tools that wait for you."""


@approvals.command("list")
@click.option("--server", help="Only the tools of this server.")
@gateway_command(every_server)
async def list_approvals(api: ApiClient, server: str | None, *, as_json: bool) -> None:
    """What waits, the oldest first: new or changed, since when, of which server, and what the scanner says of it."""
    body = await _fetch_waiting(api, server)
    if as_json:
        print_json(body)
        return
    if body["pending"]:
        rows = [
            (each["id"], each["kind"], _since_text(each["since"]), each["server"] or "", _risk_text(each["risk"]))
            for each in body["pending"]
        ]
        print_text(table(("TOOL", "KIND", "WAITS SINCE", "SERVER", "RISK"), rows))
        print_text("\nRead one:             pegboard approvals show TOOL")
        for each in body["servers"]:
            if each["approvableTogether"] > 1:
                print_text(f"Read all of a server: pegboard approvals show --server {each['id']}")
    else:
        print_text("Nothing waits for approval.")
    for block in body["blocked"]:
        print_text(f"\n{block['message']}")


@approvals.command("show")
@click.argument("tool", required=False)
@click.option("--server", help="Show everything that waits of this server.")
@gateway_command(every_server)
async def show(api: ApiClient, tool: str | None, server: str | None, *, as_json: bool) -> None:
    """What differs since a tool was approved, section by section, what looks wrong in it, and its fingerprint."""
    if (tool is None) == (server is None):
        raise click.UsageError("Name one TOOL, or --server SERVER.")
    if server is not None:
        await _show_server(api, server, as_json=as_json)
        return
    body = await _fetch_review(api, str(tool))
    if as_json:
        print_json(body)
        return
    print_text(review_text(body))
    print_text(f"\n{next_steps(body)}")


@approvals.command("approve")
@click.argument("tools", nargs=-1, metavar="[TOOL]…")
@click.option(
    "--fingerprint",
    "fingerprints",
    multiple=True,
    help="What you read in approvals show: one for each TOOL, in their order; or the one of the server.",
)
@click.option("--server", help="Approve all that you read with approvals show --server.")
@gateway_command(every_server)
async def approve(
    api: ApiClient, tools: tuple[str, ...], fingerprints: tuple[str, ...], server: str | None, *, as_json: bool
) -> None:
    """Approve tools exactly as you read them: all that you name, or none. Any later change locks them again."""
    if (not tools) == (server is None):
        raise click.UsageError("Name one or more TOOLs, or --server SERVER.")
    if server is not None:
        body: dict[str, object] = {"server": server, "fingerprint": _single_fingerprint(server, fingerprints)}
    else:
        read = fingerprints or (await _ask_approval(api, tools, as_json=as_json),)
        if len(read) != len(tools):
            raise click.UsageError(f"{len(tools)} tools and {len(read)} fingerprints: give one for each tool.")
        pairs = zip(tools, read, strict=True)
        body = {"tools": [{"tool": tool, "fingerprint": fingerprint} for tool, fingerprint in pairs]}
    done = await call_api(api, "POST", "/approvals/approve", body=body)
    if as_json:
        print_json(done)
        return
    for each in done["approved"]:
        still = "" if each["verdict"] == "open" else f" It stays {verdict_line(each)}"
        print_text(f"{one_line(each['id'])} is approved as it was read.{still}")


@approvals.command("block")
@click.argument("tool")
@click.option("--note", default="", help="Why, for whoever asks later.")
@gateway_command(every_server)
async def block(api: ApiClient, tool: str, note: str, *, as_json: bool) -> None:
    """Keep a tool locked, whatever it becomes. To take it back, approve it after all."""
    body = await call_api(api, "POST", "/approvals/block", body={"tool": tool, "note": note})
    print_json(body) if as_json else print_text(f"{one_line(body['id'])} is blocked until you approve it after all.")


async def _fetch_waiting(api: ApiClient, server: str | None) -> dict[str, Any]:
    params = [] if server is None else [("server", server)]
    return await call_api(api, "GET", "/approvals", params=params)


async def _fetch_review(api: ApiClient, tool: str) -> dict[str, Any]:
    return await call_api(api, "GET", "/approvals/show", params=[("tool", tool)])


async def _show_server(api: ApiClient, server: str, *, as_json: bool) -> None:
    body = await _fetch_waiting(api, server)
    reviews: list[dict[str, Any]] = []
    for each in body["pending"][:MAX_SHOWN]:
        review = await _fetch_review(api, each["id"])
        if review["fingerprint"] != each["fingerprint"]:
            fail(Exit.REFUSED, f"{each['id']} changed while it was being shown. Look again.")
        reviews.append(review)
    if as_json:
        print_json({**body, "reviews": reviews})
        return
    if not reviews:
        print_text(f"Nothing of {server} waits for approval.")
    for review in reviews:
        print_text(f"{review_text(review)}\n")
    if len(body["pending"]) > len(reviews):
        print_text(
            f"… {len(body['pending']) - len(reviews):,} more are not shown: pegboard approvals list --server {server}\n"
        )
    for each in body["servers"]:
        alone = each["pendingTools"] - each["approvableTogether"]
        if alone:
            print_text(f"{alone} of them must be approved one by one: the scanner found something hard.")
        if each["approvableTogether"]:
            print_text(
                f"Approve {'the others' if alone else 'all of them'} exactly so:  "
                f"pegboard approvals approve --server {each['id']} --fingerprint {each['fingerprint']}"
            )


def _single_fingerprint(server: str, fingerprints: tuple[str, ...]) -> str:
    if len(fingerprints) != 1:
        fail(
            Exit.USAGE,
            f"an approval names what was read. See: pegboard approvals show --server {shlex.quote(server)}. "
            "It ends with the fingerprint of all of them.",
        )
    return fingerprints[0]


async def _ask_approval(api: ApiClient, tools: tuple[str, ...], *, as_json: bool) -> str:
    """A person reads it here and says yes; a program must name what was read."""
    if as_json or not sys.stdin.isatty() or len(tools) > 1:
        fail(
            Exit.USAGE,
            f"an approval names what was read. See: pegboard approvals show {shlex.quote(tools[0])}. "
            "Then give its fingerprint: --fingerprint",
        )
    body = await _fetch_review(api, tools[0])
    print_text(review_text(body))
    if not await ask_yes_no("\nApprove it exactly so?"):
        fail(Exit.REFUSED, "not approved; nothing was changed.")
    return str(body["fingerprint"])


def _since_text(at: str | None) -> str:
    return "" if at is None else at[:16].replace("T", " ")


def _risk_text(risk: dict[str, Any]) -> str:
    told = [f"{risk[severity]} {severity}" for severity in ("hard", "soft") if risk[severity]]
    return ", ".join(told) or "no note"
