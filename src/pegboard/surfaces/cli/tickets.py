"""`pegboard tickets …`: calls that wait for a person's decision, and the grants that are remembered."""

import json
import re
import sys
from typing import Any, Final

import click

from pegboard.core.ticket import plainly_named

from .agreeing import agreed
from .link import Api
from .options import asked, asks, no_server
from .output import Exit, document, fail, say, tell
from .text import one_line, table

_ID: Final = re.compile("[A-Za-z0-9_-]{1,64}")


@click.group()
def tickets() -> None:
    """Tickets: calls that wait for your yes."""


@tickets.command("list")
@click.option("--all", "everything", is_flag=True, help="The decided and expired ones too.")
@asks(no_server)
async def list_tickets(api: Api, everything: bool, *, as_json: bool) -> None:
    """The calls that wait, those with the next deadline first."""
    body = await asked(api, "GET", "/tickets", params=[("all", "true")] if everything else [])
    if as_json:
        document(body)
        return
    if not body["tickets"]:
        say("No tickets." if everything else "No call waits for a decision.")
        return
    rows = [
        (ticket["id"], ticket["state"], ticket["tool"], _caller(ticket), _time(ticket["deadline"]))
        for ticket in body["tickets"]
    ]
    say(table(("TICKET", "STATE", "TOOL", "CALLER", "UNTIL"), rows))
    say("\nTo look at one: pegboard tickets show TICKET")


@tickets.command("show")
@click.argument("ticket")
@click.option("--full", is_flag=True, help="All of the arguments, however long they are.")
@asks(no_server)
async def show(api: Api, ticket: str, full: bool, *, as_json: bool) -> None:
    """One ticket: who wants to call what with which arguments. Secrets are hidden, but not in a statement of SQL."""
    params = [("full", "true")] if full else []
    body = await asked(api, "GET", path_of(ticket), params=params)
    document(body) if as_json else say(described(body, full=full))


@tickets.command("allow")
@click.argument("ticket")
@click.option("--once", "scope", flag_value="once", default="once", help="This one call.  [default]")
@click.option("--client", "scope", flag_value="client", help="And all further calls of the tool by this client.")
@click.option("--always", "scope", flag_value="always", help="And all further calls of the tool by this principal.")
@click.option("--note", default="", help="Why, for whoever asks later.")
@asks(no_server)
async def allow(api: Api, ticket: str, scope: str, note: str, *, as_json: bool) -> None:
    """Say yes to a call. It runs when its caller comes back for it."""
    body = await asked(api, "POST", f"{path_of(ticket)}/allow", body={"scope": scope, "note": note})
    if as_json:
        document(body)
        return
    say(f"Ticket {body['id']} is allowed: its caller may make this one call until {_time(body['deadline'])}.")
    if body["scope"] != "once":
        say("Further calls run without asking. To take that back: pegboard tickets grants")


@tickets.command("deny")
@click.argument("ticket")
@click.option("--note", default="", help="Why. The caller is told.")
@asks(no_server)
async def deny(api: Api, ticket: str, note: str, *, as_json: bool) -> None:
    """Say no to a call. Its caller is told."""
    body = await asked(api, "POST", f"{path_of(ticket)}/deny", body={"note": note})
    document(body) if as_json else say(f"Ticket {body['id']} is denied.")


@tickets.command("grants")
@asks(no_server)
async def grants(api: Api, *, as_json: bool) -> None:
    """What runs without asking, because somebody said so once."""
    body = await asked(api, "GET", "/tickets/grants")
    if as_json:
        document(body)
        return
    if not body["grants"]:
        say("No grant is remembered.")
        return
    rows = [
        (
            grant["id"],
            grant["tool"],
            grant["principal"],
            ("any" if grant["client"] is None else grant["client"])
            + ("" if grant.get("whose") is None else f", at {grant['whose']}"),
            f"{grant['by']} on {grant['at'][:10]}" + (" (the tool changed since)" if grant["fits"] is False else ""),
        )
        for grant in body["grants"]
    ]
    say(table(("GRANT", "TOOL", "PRINCIPAL", "CLIENT", "BY"), rows))
    say("\nTo take one back: pegboard tickets revoke GRANT")


@tickets.command("revoke")
@click.argument("grant")
@asks(no_server)
async def revoke(api: Api, grant: str, *, as_json: bool) -> None:
    """Take a remembered grant back: the next call is asked about again."""
    body = await asked(api, "DELETE", path_of(grant, "/tickets/grants", "remembered grant", "pegboard tickets grants"))
    document(body) if as_json else say(f"{body['tool']} asks {body['principal']} again.")


def is_at_terminal() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


async def decided_here(api: Api, ticket: str) -> bool:
    """Whether the person at this terminal decided. Where there is none, the ticket waits for somebody else."""
    if not is_at_terminal():
        return False
    body = await asked(api, "GET", path_of(ticket), params=[("full", "true")])
    tell(described(body, full=True).partition("\n\npegboard tickets")[0])
    yes = await agreed("\nRun it?", err=True)
    path = f"{path_of(ticket)}/{'allow' if yes else 'deny'}"
    await asked(api, "POST", path, body={})
    return True


def described(body: dict[str, Any], *, full: bool = False) -> str:
    lines = [
        *([_careful(body, full=full)] if body["cut"] else []),
        f"ticket {body['id']}: {body['state']}",
        f"  tool       {one_line(body['tool'])}",
        f"  caller     {one_line(_caller(body))}",
        *([] if body.get("whose") is None else [f"  runs at    {one_line(body['whose'])}"]),
        f"  asked      {_time(body['asked'])}",
    ]
    if body["state"] in ("waiting", "expired"):
        lines.append(f"  decide by  {_time(body['deadline'])}")
    if body["decidedBy"] is not None:
        scope = "" if body["scope"] is None else f", {body['scope']}"
        note = f" ({one_line(body['note'])})" if body["note"] else ""
        lines.append(f"  decided    by {body['decidedBy']} at {_time(body['decided'])}{scope}{note}")
    if body["begun"] is not None:
        lines.append(f"  used       {_time(body['begun'])}: {body['ended'] or 'its end is not known; it may have run'}")
    how = "to the letter" if plainly_named(body["tool"]) else "without secrets"
    lines.append(f"\narguments, {how}:\n{json.dumps(body['arguments'], indent=2, ensure_ascii=False)}")
    if body["state"] == "waiting":
        lines.append(f"\npegboard tickets allow {body['id']}   or: pegboard tickets deny {body['id']}")
    return "\n".join(lines)


def path_of(id: str, under: str = "/tickets", what: str = "ticket", see: str = "pegboard tickets list") -> str:
    """What cannot be an id is no address either."""
    if not _ID.fullmatch(id):
        fail(Exit.NOT_FOUND, f"There is no {what} {id[:64]!r}. See: {see}")
    return f"{under}/{id}"


def _careful(body: dict[str, Any], *, full: bool) -> str:
    if not full:
        told = f"To see all of them: pegboard tickets show {body['id']} --full"
    elif body["state"] == "waiting":
        told = "The others were not kept: they are larger than 256 KiB, or the gateway has no key to keep them with."
    else:
        told = "The others are not kept, or not any more: they are removed once the ticket is used, denied or expired."
    return f"! Not all arguments of this call are shown. {told}\n"


def _caller(ticket: dict[str, Any]) -> str:
    return f"{ticket['principal']} with {ticket['client']}" if ticket["client"] else str(ticket["principal"])


def _time(text: str) -> str:
    return text[:19].replace("T", " ") + " UTC"
