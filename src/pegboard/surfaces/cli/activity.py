"""`pegboard activity …`: what happened, to look back at, to follow and to take away."""

from collections.abc import Sequence
from typing import Any

import click

from .exporting import export
from .following import follow
from .link import ApiClient
from .narrowing import activity_filter_params, with_activity_filter
from .options import call_api, gateway_command
from .output import print_json, print_text
from .records import COLUMNS, record_row, record_text
from .text import table


@click.group()
def activity() -> None:
    """Activity: every call, refusal and decision, with who, when and what came of it."""


activity.add_command(follow)
activity.add_command(export)


@activity.command("list")
@with_activity_filter
@click.option("--limit", default=30, show_default=True, type=click.IntRange(1, 1000), help="How many.")
@click.option(
    "--before", type=click.IntRange(0), help="Only what is older than the record with this id: the next page."
)
@gateway_command()
async def list_activity(api: ApiClient, limit: int, before: int | None, *, as_json: bool, **narrowing: Any) -> None:
    """What happened, the newest first."""
    body = await fetch_page(api, activity_filter_params(narrowing), limit, before)
    if as_json:
        print_json(body)
        return
    if not body["activity"]:
        print_text("Nothing is recorded that fits.")
        return
    print_text(table(COLUMNS, map(record_row, body["activity"])))
    if body["next"] is not None:
        print_text(f"\nOlder ones: the same with --before {body['next']}. One in full: pegboard activity show ID")


@activity.command("show")
@click.argument("record", type=click.IntRange(0), metavar="ID")
@gateway_command()
async def show(api: ApiClient, record: int, *, as_json: bool) -> None:
    """One record in full."""
    body = await call_api(api, "GET", f"/activity/{record}")
    print_json(body) if as_json else print_text(record_text(body))


async def fetch_page(
    api: ApiClient, narrowing: Sequence[tuple[str, str]], limit: int, before: int | None
) -> dict[str, Any]:
    """Asks on for as long as the gateway has more to look through: it does so a part at a time."""
    found: list[Any] = []
    while True:
        params = [*narrowing, ("limit", str(limit - len(found)))]
        params += [] if before is None else [("before", str(before))]
        body = await call_api(api, "GET", "/activity", params=params)
        found += body["activity"]
        before = body["next"]
        if before is None or len(found) >= limit:
            return {"activity": found, "next": before}
