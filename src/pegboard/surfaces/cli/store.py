"""`pegboard store …`: what is wrong with the stored policy, and how it is fixed."""

from typing import Any

import click

from .agreeing import ask_yes_no
from .link import ApiClient
from .options import call_api, gateway_command, no_server
from .output import Exit, fail, print_json, print_text
from .text import clean


@click.group()
def store() -> None:
    """The store: rows of the policy that cannot be read."""


@store.command("check")
@click.option("--repair", is_flag=True, help="Delete the rows that cannot be read, after a yes.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@gateway_command(no_server)
async def check(api: ApiClient, repair: bool, yes: bool, *, as_json: bool) -> int:
    """List rows of the policy that cannot be read, and what each keeps locked.

    Deleting a row may open what it closed: decide about it again first, where a command is named that does.
    """
    body = await call_api(api, "GET", "/store/unreadable")
    rows: list[dict[str, Any]] = body["rows"]
    if not as_json or (repair and not yes):
        _print_rows(rows)
    deleted: list[str] = []
    if repair and rows:
        count = "1 row" if len(rows) == 1 else f"{len(rows)} rows"
        if not yes and not await ask_yes_no(f"Delete {count}? What they closed may open.", err=as_json):
            fail(Exit.FAILED, "Nothing was deleted.")
        what = {"rows": [row["id"] for row in rows], "version": body["policyVersion"]}
        body = {**body, **await call_api(api, "POST", "/store/unreadable/delete", body=what)}
        deleted = body["deleted"]
        if not as_json:
            print_text(f"Deleted {count}. Look at what is open now: pegboard tools list")
    if as_json:
        print_json({"rows": rows, "deleted": deleted, "policyVersion": body["policyVersion"]})
    return Exit.FAILED if rows and not deleted else Exit.OK


def _print_rows(rows: list[dict[str, Any]]) -> None:
    if not rows:
        print_text("Every row of the policy can be read.")
    for row in rows:
        print_text(clean(f"{row['row']}\n  {row['why']}.\n  {row['effect']}\n  {row['fix']}"))
        for also in row["alsoDeleted"]:
            print_text(clean(f"  Deleted with it: {also}"))
