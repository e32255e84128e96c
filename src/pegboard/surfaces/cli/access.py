"""`pegboard tokens` and `pegboard grants`."""

import os
import webbrowser
from html import escape
from pathlib import Path
from typing import Final
from urllib.parse import quote

import click

from pegboard.config import paths as places
from pegboard.surfaces.cli.api import ApiClient, Options
from pegboard.surfaces.cli.client import running_gateway
from pegboard.surfaces.cli.event_loop import run_to_end
from pegboard.surfaces.cli.options import (
    call_api,
    config_option,
    data_dir_option,
    fetch_pages,
    gateway_command,
    json_option,
    no_server,
    split_names,
)
from pegboard.surfaces.cli.output import Exit, fail, one_line, print_json, print_progress, print_text, table


@click.group()
def tokens() -> None:
    """Tokens: who may call tools over HTTP, and who may use the operator's API."""


@tokens.command("list")
@click.option("--all", "everything", is_flag=True, help="The revoked and expired ones too.")
@gateway_command(no_server)
async def list_tokens(api: ApiClient, everything: bool, *, as_json: bool) -> None:
    """Every token, newest first. None is shown whole: of each only a hash is kept."""
    body = await fetch_pages(api, "/tokens", "tokens", [("limit", "1000")])
    found = [token for token in body["tokens"] if everything or token["state"] == "active"]
    if as_json:
        print_json({"tokens": found, "policyVersion": body["policyVersion"]})
        return
    if not found:
        print_text("No tokens. To make one: pegboard tokens make PRINCIPAL --scope call")
        return
    rows = [
        (
            token["id"],
            one_line(token["principal"]),
            one_line(token["name"]),
            f"{token['prefix']}…",
            ",".join(token["scopes"]),
            token["state"] if token["state"] != "active" else _day_text(token["expiresAt"]) or "no end",
            _day_text(token["lastUsedAt"]) or "never",
        )
        for token in found
    ]
    print_text(table(("ID", "PRINCIPAL", "FOR", "TOKEN", "SCOPES", "UNTIL", "USED"), rows))


@tokens.command("make")
@click.argument("principal")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    required=True,
    type=click.Choice(["read", "call", "operate", "admin"]),
    help="What it opens; may be given several times. An agent needs call and nothing else.",
)
@click.option("--name", default="made on the command line", show_default=True, help="What it is for.")
@click.option("--days", type=click.IntRange(1, 3650), help="How long it lasts.  [default: without end]")
@click.option("--toolsets", help="What the principal may use from now on, separated by commas; '' for nothing.")
@click.option(
    "--interactive/--not-interactive",
    default=None,
    help="Whether a person sits at the principal's clients, so that answers there confirm calls; at first not.",
)
@gateway_command(no_server)
async def make(
    api: ApiClient,
    principal: str,
    scopes: tuple[str, ...],
    name: str,
    days: int | None,
    toolsets: str | None,
    interactive: bool | None,
    *,
    as_json: bool,
) -> None:
    """Make a token for a principal, a name of your choice. It is printed once, and only its hash is kept."""
    body: dict[str, object] = {"principal": principal, "name": name, "scopes": list(dict.fromkeys(scopes))}
    if days is not None:
        body["expiresInDays"] = days
    if toolsets is not None:
        body["toolsets"] = split_names(toolsets)
    if interactive is not None:
        body["interactive"] = interactive
    made = await call_api(api, "POST", "/tokens", body=body)
    if as_json:
        print_json(made)
        return
    scoped = ", ".join(made["created"]["scopes"])
    print_progress(f"Token {made['created']['id']} of {one_line(principal)}: {scoped}. It is not shown again:")
    print_text(made["token"])
    if made["notice"]:
        print_progress(f"! {made['notice']}")


@tokens.command("revoke")
@click.argument("id")
@gateway_command(no_server)
async def revoke(api: ApiClient, id: str, *, as_json: bool) -> None:
    """Take a token back. What is open under it ends at once."""
    if not id.isalnum() or not id.isascii():
        fail(Exit.NOT_FOUND, f"There is no token {id!r}. See: pegboard tokens list")
    body = await call_api(api, "DELETE", f"/tokens/{id}")
    print_json(body) if as_json else print_text(
        f"{id} is revoked. {one_line(body['revoked']['principal'])} cannot use it any more."
    )


@tokens.command("sign-out")
@gateway_command(no_server)
async def sign_out(api: ApiClient, *, as_json: bool) -> None:
    """Sign every browser out of the pages. Tokens stay as they are."""
    await call_api(api, "DELETE", "/sessions")
    print_json({"signedOut": True}) if as_json else print_text(
        "Every browser is signed out. To sign in again: pegboard ui"
    )


@tokens.command("forget")
@click.argument("principal")
@click.option("--reopen", is_flag=True, help="Even if it is the last: then whoever reaches the gateway may call again.")
@gateway_command(no_server)
async def forget(api: ApiClient, principal: str, reopen: bool, *, as_json: bool) -> None:
    """Forget a principal with all its tokens and what it was granted."""
    params = [("reopen", "true")] if reopen else []
    body = await call_api(api, "DELETE", f"/principals/{quote(principal, safe='')}", params=params)
    if as_json:
        print_json(body)
        return
    open_again = (
        "" if body["requiresTokens"] or not reopen else " Whoever reaches the gateway may call every open tool again."
    )
    print_text(f"{one_line(principal)} is forgotten.{open_again}")


def _day_text(moment: str | None) -> str | None:
    return None if moment is None else moment[:16].replace("T", " ")


# `pegboard grants …`: which toolsets each principal may use, and whether its clients confirm calls.


@click.group()
def grants() -> None:
    """Grants: which toolsets each caller may use."""


@grants.command("list")
@gateway_command(no_server)
async def list_grants(api: ApiClient, *, as_json: bool) -> None:
    """Whoever has a name here, what its tokens open and which toolsets it may use."""
    body = await fetch_pages(api, "/principals", "principals", [("limit", "1000")])
    if as_json:
        print_json(body)
        return
    rows = [
        (
            one_line(one["id"]),
            ",".join(one["scopes"]) or "-",
            "everything" if one["toolsets"] is None else ", ".join(one["toolsets"]) or "nothing",
            "in client" if one["interactive"] and one["confirmation"] != "ticket" else "by ticket",
            one["declaredAt"] or ("this machine" if one["id"] == "local" else "named at run time"),
        )
        for one in body["principals"]
    ]
    print_text(table(("PRINCIPAL", "SCOPES", "MAY USE", "CONFIRMS", "FROM"), rows))
    if not body["requiresTokens"]:
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


# `pegboard ui`: an address at which a browser sees the board of the gateway that runs here, signed in.

REDIRECT_FILE: Final = "open.html"


@click.command()
@config_option
@data_dir_option
@click.option("--open", "opens", is_flag=True, help="Open it in your browser.")
@json_option
def ui(config: Path | None, data_dir: Path | None, opens: bool, as_json: bool) -> int:
    """Print an address of the web UI that signs you in.

    It works once, within a quarter of an hour; the browser then stays signed in. Whoever opens it can do everything:
    pass it on to nobody.
    """
    directory = places.data_directory(data_dir, os.environ)
    if not places.is_locked(directory):
        fail(Exit.UNREACHABLE, f"no gateway runs with the data directory {directory}. Start one: pegboard serve")
    address = places.read_address(directory)
    if isinstance(address, places.UnusableAddress):
        told = f"a gateway runs with the data directory {directory}, but {address.why}. Try again in a moment."
        fail(Exit.UNREACHABLE, told)
    paths: list[str] = []

    async def ask() -> int:
        async with running_gateway(Options(config, data_dir), lambda key, id: False) as api:
            if api is None:
                fail(
                    Exit.UNREACHABLE, f"no gateway runs with the data directory {directory}. Start one: pegboard serve"
                )
            paths.append((await call_api(api, "POST", "/session/link"))["path"])
        return Exit.OK

    run_to_end(ask)
    url = f"{address.url}{paths[0]}"
    if opens and not webbrowser.open(_redirect_page(directory, url).as_uri()):
        fail(Exit.FAILED, f"no browser could be started here. Open this yourself: {url}")
    print_json({"url": url}) if as_json else print_text(url)
    return Exit.OK


def _redirect_page(directory: Path, url: str) -> Path:
    """A page of your own that leads there: what stands on a browser's command line is seen by everyone on a machine."""
    file = directory / REDIRECT_FILE
    file.unlink(missing_ok=True)
    text = f'<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0;url={escape(url)}">'
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as page:
        page.write(text)
    return file
