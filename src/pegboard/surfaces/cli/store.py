"""`pegboard store …`: what is wrong with the stored policy, and how it is fixed."""

from typing import Any

import click

from .agreeing import agreed
from .link import Api
from .options import asked, asks, no_server
from .output import Exit, document, fail, say
from .text import clean


@click.group()
def store() -> None:
    """The store: rows of the policy that cannot be read."""


@store.command("check")
@click.option("--repair", is_flag=True, help="Delete the rows that cannot be read, after a yes.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@asks(no_server)
async def check(api: Api, repair: bool, yes: bool, *, as_json: bool) -> int:
    """List rows of the policy that cannot be read, and what each keeps locked.

    Deleting a row may open what it closed: decide about it again first, where a command is named that does.
    """
    body = await asked(api, "GET", "/store/unreadable")
    rows: list[dict[str, Any]] = body["rows"]
    if not as_json or (repair and not yes):
        _show(rows)
    deleted: list[str] = []
    if repair and rows:
        count = "1 row" if len(rows) == 1 else f"{len(rows)} rows"
        if not yes and not await agreed(f"Delete {count}? What they closed may open.", err=as_json):
            fail(Exit.FAILED, "Nothing was deleted.")
        what = {"rows": [row["id"] for row in rows], "version": body["policyVersion"]}
        body = {**body, **await asked(api, "POST", "/store/unreadable/delete", body=what)}
        deleted = body["deleted"]
        if not as_json:
            say(f"Deleted {count}. Look at what is open now: pegboard tools list")
    if as_json:
        document({"rows": rows, "deleted": deleted, "policyVersion": body["policyVersion"]})
    return Exit.FAILED if rows and not deleted else Exit.OK


def _show(rows: list[dict[str, Any]]) -> None:
    if not rows:
        say("Every row of the policy can be read.")
    for row in rows:
        say(clean(f"{row['row']}\n  {row['why']}.\n  {row['effect']}\n  {row['fix']}"))
        for also in row["alsoDeleted"]:
            say(clean(f"  Deleted with it: {also}"))
