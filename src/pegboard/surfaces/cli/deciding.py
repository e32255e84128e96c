"""`pegboard tools enable|disable|approve`: what a person decides about one tool."""

import sys
from typing import Any

import click

from .agreeing import ask_yes_no
from .link import ApiClient
from .options import call_api, every_server, gateway_command
from .output import Exit, fail, print_json, print_text
from .text import one_line
from .tools import describe_tool, tools


@tools.command("enable")
@click.argument("tool")
@gateway_command(every_server)
async def enable(api: ApiClient, tool: str, *, as_json: bool) -> None:
    """Switch a tool on."""
    await _switch_tool(api, tool, True, "", as_json=as_json)


@tools.command("disable")
@click.argument("tool")
@click.option("--note", default="", help="Why, for whoever asks later.")
@gateway_command(every_server)
async def disable(api: ApiClient, tool: str, note: str, *, as_json: bool) -> None:
    """Switch a tool off. It stays on the board, locked."""
    await _switch_tool(api, tool, False, note, as_json=as_json)


@tools.command("approve")
@click.argument("tool")
@click.option(
    "--read", "fingerprint", help="The fingerprint you read in tools show; without it you are shown and asked."
)
@gateway_command(every_server)
async def approve(api: ApiClient, tool: str, fingerprint: str | None, *, as_json: bool) -> None:
    """Approve a tool exactly as it is now. Any later change locks it again."""
    if fingerprint is None:
        shown = await call_api(api, "GET", "/tools/show", params=[("tool", tool)])
        fingerprint = await _ask_approval(shown, as_json=as_json)
    body = await call_api(api, "POST", "/tools/approve", body={"tool": tool, "fingerprint": fingerprint})
    print_json(body) if as_json else print_text(f"{one_line(body['id'])} is approved as it was read.")


async def _ask_approval(body: dict[str, Any], *, as_json: bool) -> str:
    """A person reads it here and says yes; a program must name what was read."""
    fingerprint = str(body["fingerprint"])
    if as_json or not sys.stdin.isatty():
        fail(
            Exit.USAGE,
            f"an approval names what was read. See: pegboard tools show {body['id']}. "
            f"Then: pegboard tools approve {body['id']} --read {fingerprint}",
        )
    print_text(describe_tool(body))
    if not await ask_yes_no("\nApprove it exactly so?"):
        fail(Exit.REFUSED, "not approved; nothing was changed.")
    return fingerprint


async def _switch_tool(api: ApiClient, tool: str, on: bool, note: str, *, as_json: bool) -> None:
    body = await call_api(api, "POST", "/tools/switch", body={"tool": tool, "on": on, "note": note})
    print_json(body) if as_json else print_text(_switch_outcome(body, on))


def _switch_outcome(body: dict[str, Any], on: bool) -> str:
    """What came of it: a switch opens nothing that something else keeps locked."""
    if not on:
        return f"{body['id']} is switched off."
    if body["verdict"] == "locked":
        why = f"{body['status']}. {body['sentence']} {body['remedy']}"
        return f"{body['id']} is switched on, and stays locked all the same: {why}"
    if body["switch"] is None:
        return f"{body['id']} is switched on."
    return f"{body['id']} is switched on, against an override that takes it away. Its switch stays the stronger."
