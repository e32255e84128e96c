"""`pegboard tokens …`: API tokens of programs and people, made, listed and taken back."""

from typing import Any
from urllib.parse import quote

import click

from .link import ApiClient
from .options import call_api, gateway_command, no_server
from .output import Exit, fail, print_json, print_progress, print_text
from .text import one_line, table


@click.group()
def tokens() -> None:
    """Tokens: who may call tools over HTTP, and who may use the operator's API."""


@tokens.command("list")
@click.option("--all", "everything", is_flag=True, help="The revoked and expired ones too.")
@gateway_command(no_server)
async def list_tokens(api: ApiClient, everything: bool, *, as_json: bool) -> None:
    """Every token, newest first. None is shown whole: of each only a hash is kept."""
    found: list[dict[str, Any]] = []
    after: str | None = None
    while True:
        params = [("limit", "1000"), *([] if after is None else [("after", after)])]
        body = await call_api(api, "GET", "/tokens", params=params)
        found += [token for token in body["tokens"] if everything or token["state"] == "active"]
        if (after := body["next"]) is None:
            break
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
        body["toolsets"] = [word.strip() for word in toolsets.split(",") if word.strip()]
    if interactive is not None:
        body["interactive"] = interactive
    made = await call_api(api, "POST", "/tokens", body=body)
    if as_json:
        print_json(made)
        return
    scoped = ", ".join(made["made"]["scopes"])
    print_progress(f"Token {made['made']['id']} of {one_line(principal)}: {scoped}. It is not shown again:")
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
    open_again = "" if body["asks"] or not reopen else " Whoever reaches the gateway may call every open tool again."
    print_text(f"{one_line(principal)} is forgotten.{open_again}")


def _day_text(moment: str | None) -> str | None:
    return None if moment is None else moment[:16].replace("T", " ")
