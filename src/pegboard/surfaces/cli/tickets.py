"""`pegboard tickets`."""

import json
import re
import sys
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import click

from pegboard.core.calls.secret_arguments import describe_masking
from pegboard.core.calls.tickets import DEFAULTS_TEXT, PINNED_TEXT
from pegboard.core.model.characters import escape_json
from pegboard.surfaces.cli.api import ApiClient
from pegboard.surfaces.cli.confirm import ask_yes_no
from pegboard.surfaces.cli.options import call_api, gateway_command, no_server
from pegboard.surfaces.cli.output import Exit, fail, one_line, print_json, print_progress, print_text, table

MAX_PLACES: Final = 10
_ID: Final = re.compile("[A-Za-z0-9_-]{1,64}")
_LIFETIME: Final = re.compile("([1-9][0-9]{0,6})(m|h|d|w)")
_DAYS_BY_UNIT: Final = {"m": 1 / 1440, "h": 1 / 24, "d": 1, "w": 7}


@click.group()
def tickets() -> None:
    """Tickets: calls that wait for your yes."""


@tickets.command("list")
@click.option("--all", "everything", is_flag=True, help="The decided and expired ones too.")
@gateway_command(no_server)
async def list_tickets(api: ApiClient, everything: bool, *, as_json: bool) -> None:
    """The calls that wait, those with the next deadline first."""
    body = await call_api(api, "GET", "/tickets", params=[("all", "true")] if everything else [])
    if as_json:
        print_json(body)
        return
    if not body["tickets"]:
        print_text("No tickets." if everything else "No call waits for a decision.")
        return
    rows = [
        (ticket["id"], ticket["state"], ticket["tool"], _caller_text(ticket), _time_text(ticket["deadline"]))
        for ticket in body["tickets"]
    ]
    print_text(table(("TICKET", "STATE", "TOOL", "CALLER", "UNTIL"), rows))
    print_text("\nTo look at one: pegboard tickets show TICKET")


@tickets.command("show")
@click.argument("ticket")
@click.option("--full", is_flag=True, help="All of the arguments, however long they are.")
@click.option("--reveal", is_flag=True, help="All of the arguments, masked values too. The activity records it.")
@gateway_command(no_server)
async def show(api: ApiClient, ticket: str, full: bool, reveal: bool, *, as_json: bool) -> None:
    """One ticket: who wants to call what with which arguments. Only what is marked as secret is masked."""
    if reveal:
        body = await call_api(api, "POST", f"{ticket_path(ticket)}/reveal", body={})
    else:
        body = await call_api(api, "GET", ticket_path(ticket), params=[("full", "true")] if full else [])
    print_json(body) if as_json else print_text(describe_ticket(body, full=full or reveal))


@tickets.command("allow")
@click.argument("ticket")
@click.option("--once", "scope", flag_value="once", default="once", help="This one call.  [default]")
@click.option("--client", "scope", flag_value="client", help="And all further calls of the tool by this client.")
@click.option("--always", "scope", flag_value="always", help="And all further calls of the tool by this principal.")
@click.option("--for", "lasts", metavar="TIME", help="How long further calls are allowed, such as 7d, 12h or 2w.")
@click.option("--until", metavar="DATE", help="The last day of that in UTC, such as 2026-12-18; or a moment; or never.")
@click.option("--yes-destructive", is_flag=True, help="Allow further calls of a tool that claims to be destructive.")
@click.option("--note", default="", help="Why, for whoever asks later.")
@gateway_command(no_server)
async def allow(
    api: ApiClient,
    ticket: str,
    scope: str,
    lasts: str | None,
    until: str | None,
    yes_destructive: bool,
    note: str,
    *,
    as_json: bool,
) -> None:
    """Say yes to a call. It runs when its caller comes back for it. Further calls are allowed for 30 days, unless the
    board or you say otherwise."""
    body: dict[str, object] = {"scope": scope, "note": note, **end_body(scope, lasts, until)}
    if scope != "once" and (yes_destructive or await _confirm_destructive(api, ticket)):
        body["confirmDestructive"] = True
    body = await call_api(api, "POST", f"{ticket_path(ticket)}/allow", body=body)
    if as_json:
        print_json(body)
        return
    print_text(
        f"Ticket {body['id']} is allowed: its caller may make this one call until {_time_text(str(body['deadline']))}."
    )
    if body["scope"] != "once":
        print_text(await _permission_text(api, body))


async def _permission_text(api: ApiClient, ticket: dict[str, object]) -> str:
    """What else runs now that this ticket is allowed, until when, and how to revoke that."""
    params = [("tool", str(ticket["tool"])), ("principal", str(ticket["principal"]))]
    body = await call_api(api, "GET", "/tickets/consents", params=params)
    client = ticket["client"] if ticket["scope"] == "client" else None
    given = [
        each
        for each in body["consents"]
        if (each["client"], each["credentialIdentity"]) == (client, ticket["credentialIdentity"])
    ]
    if not given:
        return "Further calls run without confirmation. To see which: pegboard tickets consents"
    latest = max(given, key=lambda each: str(each["at"]))
    end = "without an end" if latest["expiresAt"] is None else f"until {_time_text(latest['expiresAt'])}"
    return (
        f"Further calls by {one_line(_caller_text({**latest, 'client': latest['client'] or ''}))} run without "
        "confirmation "
        f"{end}. To revoke that: pegboard tickets revoke {latest['id']}"
    )


def end_body(scope: str, lasts: str | None, until: str | None) -> dict[str, object]:
    """The end of a standing permission, as the API takes it."""
    if lasts is None and until is None:
        return {}
    if scope == "once":
        raise click.UsageError("--for and --until are for --client and --always: one call needs no end.")
    if lasts is not None and until is not None:
        raise click.UsageError("Give --for or --until, not both.")
    if lasts is not None:
        written = _LIFETIME.fullmatch(lasts.strip())
        if written is None:
            raise click.UsageError(f"--for {lasts!r} is no time. Write a number with m, h, d or w, such as 7d or 12h.")
        return {"expiresInDays": int(written[1]) * _DAYS_BY_UNIT[written[2]]}
    if until == "never":
        return {"expiresAt": "never"}
    try:
        moment = datetime.fromisoformat(str(until))
    except ValueError:
        raise click.UsageError(f"--until {until!r} is no date. Write it as 2026-12-18, or never.") from None
    if len(str(until)) == len("2026-12-18"):
        moment += timedelta(days=1, seconds=-1)
    return {"expiresAt": (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).isoformat()}


async def _confirm_destructive(api: ApiClient, ticket: str) -> bool:
    """Whether the person at this terminal confirms a standing permission for a tool that claims to be destructive.
    Without a terminal the API says what is missing."""
    body = await call_api(api, "GET", ticket_path(ticket))
    if not body["consentTerms"]["destructive"] or body["state"] != "waiting" or not is_at_terminal():
        return False
    print_progress(
        f"! {one_line(body['tool'])} claims to be destructive, or has changed since this ticket was made.\n"
        f"  Every further call of it by {one_line(_caller_text(body))} would run without confirmation, whatever its "
        "arguments."
    )
    if not await ask_yes_no("Allow that?", err=True):
        fail(Exit.REFUSED, f"Nothing is decided. To allow this one call: pegboard tickets allow {ticket}")
    return True


@tickets.command("deny")
@click.argument("ticket")
@click.option("--note", default="", help="Why. The caller is told.")
@gateway_command(no_server)
async def deny(api: ApiClient, ticket: str, note: str, *, as_json: bool) -> None:
    """Say no to a call. Its caller is told."""
    body = await call_api(api, "POST", f"{ticket_path(ticket)}/deny", body={"note": note})
    print_json(body) if as_json else print_text(f"Ticket {body['id']} is denied.")


@tickets.command("consents")
@gateway_command(no_server)
async def consents(api: ApiClient, *, as_json: bool) -> None:
    """Standing permissions: what runs without confirmation, for whom and until when."""
    body = await call_api(api, "GET", "/tickets/consents")
    if as_json:
        print_json(body)
        return
    if not body["consents"]:
        print_text("No standing permissions.")
        return
    rows = [
        (
            consent["id"],
            one_line(consent["tool"]),
            one_line(consent["principal"]),
            _client_text(consent),
            f"{one_line(consent['by'])} on {consent['at'][:10]}",
            "never" if consent["lastUsedAt"] is None else _time_text(consent["lastUsedAt"]),
            _end_text(consent),
        )
        for consent in body["consents"]
    ]
    print_text(table(("ID", "TOOL", "CALLER", "CLIENT", "GIVEN BY", "LAST USED", "ENDS"), rows))
    print_text("\nTo revoke one: pegboard tickets revoke ID")


def _client_text(consent: dict[str, Any]) -> str:
    client = "any" if consent["client"] is None else one_line(consent["client"])
    return (
        client if consent["credentialIdentity"] is None else f"{client}, at {one_line(consent['credentialIdentity'])}"
    )


def _end_text(consent: dict[str, Any]) -> str:
    if consent["expired"]:
        return f"ended {_time_text(consent['expiresAt'])}"
    if consent["current"] is False:
        return "ended: the tool changed"
    return "never" if consent["expiresAt"] is None else _time_text(consent["expiresAt"])


@tickets.command("revoke")
@click.argument("id")
@gateway_command(no_server)
async def revoke(api: ApiClient, id: str, *, as_json: bool) -> None:
    """Revoke a standing permission: the next call is asked about again, at every gateway on the same store. A call that
    runs already is not ended."""
    path = ticket_path(id, "/tickets/consents", "standing permission", "pegboard tickets consents")
    body = await call_api(api, "DELETE", path)
    print_json(body) if as_json else print_text(
        f"Revoked: calls of {one_line(body['tool'])} by {one_line(body['principal'])} need confirmation again."
    )


def is_at_terminal() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


async def decide_at_terminal(api: ApiClient, ticket: str) -> bool:
    """Whether the person at this terminal decided. Where there is none, the ticket waits for somebody else."""
    if not is_at_terminal():
        return False
    body = await call_api(api, "GET", ticket_path(ticket), params=[("full", "true")])
    print_progress(describe_ticket(body, full=True).partition("\n\npegboard tickets allow")[0])
    yes = await ask_yes_no("\nRun it?", err=True)
    path = f"{ticket_path(ticket)}/{'allow' if yes else 'deny'}"
    await call_api(api, "POST", path, body={})
    return True


def describe_ticket(body: dict[str, Any], *, full: bool = False) -> str:
    lines = [
        *([_hidden_arguments_notice(body, full=full)] if body["truncated"] else []),
        f"ticket {body['id']}: {body['state']}",
        f"  tool       {one_line(body['tool'])}",
        f"  caller     {one_line(_caller_text(body))}",
        *([] if body.get("credentialIdentity") is None else [f"  runs at    {one_line(body['credentialIdentity'])}"]),
        f"  asked      {_time_text(body['requestedAt'])}",
    ]
    if body["state"] in ("waiting", "expired"):
        lines.append(f"  decide by  {_time_text(body['deadline'])}")
    if body["decidedBy"] is not None:
        scope = "" if body["scope"] is None else f", {body['scope']}"
        note = f" ({one_line(body['note'])})" if body["note"] else ""
        lines.append(f"  decided    by {body['decidedBy']} at {_time_text(body['decidedAt'])}{scope}{note}")
    if body["startedAt"] is not None:
        outcome = body["outcome"] or "its end is not known; it may have run"
        lines.append(f"  used       {_time_text(body['startedAt'])}: {outcome}")
    how = "without what looks like a secret" if body["redacted"] else describe_masking(len(body["masked"]))
    lines.append(f"\narguments, {how}:\n{escape_json(json.dumps(body['arguments'], indent=2, ensure_ascii=False))}")
    lines += _filled_lines(body["filledArguments"])
    if body["state"] == "waiting":
        if body["masked"]:
            places = ", ".join(map(one_line, body["masked"][:MAX_PLACES]))
            more = "" if len(body["masked"]) <= MAX_PLACES else f" and {len(body['masked']) - MAX_PLACES:,} more places"
            lines.append(f"\nMasked at {places}{more}. To see: pegboard tickets show {body['id']} --reveal")
        lines.append(f"\npegboard tickets allow {body['id']}   or: pegboard tickets deny {body['id']}")
    return "\n".join(lines)


def _filled_lines(filled: dict[str, Any] | None) -> list[str]:
    """What overrides put into the call beside the arguments that its caller sent."""
    if filled is None:
        return []
    defaults = escape_json(json.dumps(filled["defaults"], indent=2, ensure_ascii=False))
    pinned = ", ".join(map(one_line, filled["pinned"]))
    return [
        *([f"\n{DEFAULTS_TEXT}:\n{defaults}"] if filled["defaults"] else []),
        *([f"\n{PINNED_TEXT}: {pinned}"] if filled["pinned"] else []),
    ]


def ticket_path(id: str, under: str = "/tickets", what: str = "ticket", see: str = "pegboard tickets list") -> str:
    """What cannot be an id is no address either."""
    if not _ID.fullmatch(id):
        fail(Exit.NOT_FOUND, f"There is no {what} {id[:64]!r}. See: {see}")
    return f"{under}/{id}"


def _hidden_arguments_notice(body: dict[str, Any], *, full: bool) -> str:
    if not full:
        told = f"To see all of them: pegboard tickets show {body['id']} --full"
    elif body["state"] == "waiting":
        told = "The others were not kept: the gateway has no key to keep them with. Such a call cannot be allowed."
    else:
        told = "The others are not kept, or not any more: they are removed once the ticket is used, denied or expired."
    return f"! Not all arguments of this call are shown. {told}\n"


def _caller_text(ticket: dict[str, Any]) -> str:
    return f"{ticket['principal']} with {ticket['client']}" if ticket["client"] else str(ticket["principal"])


def _time_text(text: str) -> str:
    return text[:19].replace("T", " ") + " UTC"
