"""`pegboard activity …`: what happened, to look back at, to follow and to take away."""

from collections.abc import Sequence
from typing import Any

import click

from .exporting import export
from .following import follow
from .link import Api
from .narrowing import narrowed, with_narrowing
from .options import asked, asks
from .output import document, say
from .records import HEAD, in_full, line
from .text import table


@click.group()
def activity() -> None:
    """Activity: every call, refusal and decision, with who, when and what came of it."""


activity.add_command(follow)
activity.add_command(export)


@activity.command("list")
@with_narrowing
@click.option("--limit", default=30, show_default=True, type=click.IntRange(1, 1000), help="How many.")
@click.option(
    "--before", type=click.IntRange(0), help="Only what is older than the record with this id: the next page."
)
@asks()
async def list_activity(api: Api, limit: int, before: int | None, *, as_json: bool, **narrowing: Any) -> None:
    """What happened, the newest first."""
    body = await page(api, narrowed(narrowing), limit, before)
    if as_json:
        document(body)
        return
    if not body["activity"]:
        say("Nothing is recorded that fits.")
        return
    say(table(HEAD, map(line, body["activity"])))
    if body["next"] is not None:
        say(f"\nOlder ones: the same with --before {body['next']}. One in full: pegboard activity show ID")


@activity.command("show")
@click.argument("record", type=click.IntRange(0), metavar="ID")
@asks()
async def show(api: Api, record: int, *, as_json: bool) -> None:
    """One record in full."""
    body = await asked(api, "GET", f"/activity/{record}")
    document(body) if as_json else say(in_full(body))


async def page(api: Api, narrowing: Sequence[tuple[str, str]], limit: int, before: int | None) -> dict[str, Any]:
    """Asks on for as long as the gateway has more to look through: it does so a part at a time."""
    found: list[Any] = []
    while True:
        params = [*narrowing, ("limit", str(limit - len(found)))]
        params += [] if before is None else [("before", str(before))]
        body = await asked(api, "GET", "/activity", params=params)
        found += body["activity"]
        before = body["next"]
        if before is None or len(found) >= limit:
            return {"activity": found, "next": before}
