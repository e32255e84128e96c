"""`pegboard grants …`: which toolsets each principal may use, and whether its clients confirm calls."""

from typing import Any
from urllib.parse import quote

import click

from .link import ApiClient
from .options import call_api, gateway_command, no_server
from .output import print_json, print_text
from .text import one_line, table


@click.group()
def grants() -> None:
    """Grants: which toolsets each caller may use."""


@grants.command("list")
@gateway_command(no_server)
async def list_grants(api: ApiClient, *, as_json: bool) -> None:
    """Whoever has a name here, what its tokens open and which toolsets it may use."""
    found: list[dict[str, Any]] = []
    after: str | None = None
    while True:
        params = [("limit", "1000"), *([] if after is None else [("after", after)])]
        body = await call_api(api, "GET", "/principals", params=params)
        found += body["principals"]
        if (after := body["next"]) is None:
            break
    if as_json:
        print_json({**body, "principals": found})
        return
    rows = [
        (
            one_line(one["id"]),
            ",".join(one["scopes"]) or "-",
            "everything" if one["toolsets"] is None else ", ".join(one["toolsets"]) or "nothing",
            "in client" if one["interactive"] and one["confirmation"] != "ticket" else "by ticket",
            one["declaredAt"] or ("this machine" if one["id"] == "local" else "named at run time"),
        )
        for one in found
    ]
    print_text(table(("PRINCIPAL", "SCOPES", "MAY USE", "CONFIRMS", "FROM"), rows))
    if not body["asks"]:
        print_text("\nNobody has a token to call by, so whoever reaches the gateway is local.")


@grants.command("set")
@click.argument("principal")
@click.argument("toolsets", nargs=-1)
@gateway_command(no_server)
async def set_grants(api: ApiClient, principal: str, toolsets: tuple[str, ...], *, as_json: bool) -> None:
    """Let a principal use exactly these toolsets, separated by spaces or commas; none named, nothing."""
    named = [each.strip() for some in toolsets for each in some.split(",")]
    await _save_grant(api, principal, [*filter(None, named)], as_json)


@grants.command("clear")
@click.argument("principal")
@gateway_command(no_server)
async def clear(api: ApiClient, principal: str, *, as_json: bool) -> None:
    """Take away what was said here about a principal: then the file decides, and without it nothing limits it."""
    await _save_grant(api, principal, None, as_json)


@grants.command("confirmation")
@click.argument("principal")
@click.option(
    "--interactive/--not-interactive",
    default=None,
    help="Whether a person sits at the principal's clients, so that answers there confirm calls.",
)
@click.option(
    "--mode",
    type=click.Choice(["in_client", "ticket"]),
    help="ticket: each call to be confirmed waits for an operator.",
)
@gateway_command(no_server)
async def confirmation(
    api: ApiClient, principal: str, interactive: bool | None, mode: str | None, *, as_json: bool
) -> None:
    """Set how a principal's calls are confirmed: exactly this; without an option, as by default."""
    address = f"/principals/{quote(principal, safe='')}/confirmation"
    body = await call_api(api, "PUT", address, body={"interactive": interactive, "confirmation": mode})
    if as_json:
        print_json(body)
        return
    one = body["principal"]
    in_client = one["interactive"] and one["confirmation"] != "ticket"
    how = "in its client, where that can ask" if in_client else "by tickets"
    print_text(f"Calls of {one_line(principal)} that must be confirmed are confirmed {how}.")


async def _save_grant(api: ApiClient, principal: str, toolsets: list[str] | None, as_json: bool) -> None:
    body = await call_api(api, "PUT", f"/principals/{quote(principal, safe='')}/grants", body={"toolsets": toolsets})
    if as_json:
        print_json(body)
        return
    may = body["principal"]["toolsets"]
    print_text(f"{one_line(principal)} may use {'everything' if may is None else ', '.join(may) or 'nothing'}.")
