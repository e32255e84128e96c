"""`pegboard why`: the trail of one decision, every step and what it said."""

from typing import Any

import click

from pegboard.core.addressed import address_user

from .link import ApiClient
from .options import call_api, every_server, gateway_command, view_params, with_view
from .output import print_json, print_text
from .overrides import author_text, effect_text, value_text
from .text import one_line

_MAX_OTHERS = 20
"""Callers who do not get it that are named."""


@click.command()
@click.argument("tool")
@click.option(
    "--presentation",
    type=click.Choice(["direct", "meta", "search", "deferred", "code"]),
    help="Whether it is listed at the endpoint of this presentation.",
)
@with_view
@gateway_command(every_server)
async def why(
    api: ApiClient,
    tool: str,
    presentation: str | None,
    toolsets: str | None,
    enabled_tools: str | None,
    disabled_tools: str | None,
    principal: str,
    *,
    as_json: bool,
) -> None:
    """Why a tool is there or not: every step of the decision and what it said."""
    params = [("tool", tool), *view_params(toolsets, enabled_tools, disabled_tools, principal)]
    if presentation is not None:
        params.append(("presentation", presentation))
    body = await call_api(api, "GET", "/why", params=params)
    if as_json:
        print_json(body)
        return
    print_text(f"{one_line(body['id'])}\n  {verdict_line(body)}")
    if body.get("remedy"):
        print_text(f"  {address_user(body['remedy'])}")
    if body["action"]["kind"] == "edit_file" and body.get("status"):
        # The remedy is told to agents, too, and so it names no place of this machine.
        print_text(f"  {body['action']['label']}: {one_line(str(body['action']['target']))}")
    for each in body.get("more", ()):
        print_text(f"  And then: {one_line(each)}")
    if body.get("detail"):
        print_text(f"  {one_line(body['detail'])}")
    print_text()
    for step in body["steps"]:
        print_text(f"  {'✓' if step['lets'] else '✗'} {step['asked']}  {address_user(step['said'])}")
    others = body.get("others", ())
    for each in others[:_MAX_OTHERS]:
        print_text(f"  ! Not for {each['principal']}: {each['sentence']}")
    if len(others) > _MAX_OTHERS:
        print_text("  ! Nor for others. For one of them: --as NAME")
    for entry in body["unknownNames"]:
        print_text(f"  ! {one_line(entry)}")
    for told in body["naming"]:
        print_text(f"  ~ {told}")
    for field in body["overrides"]:
        said = (
            f"{field['field']} is {value_text(field['value'])}  {author_text(field['from'], field)} ({field['target']})"
        )
        print_text(f"  {'~' if field['inForce'] else '-'} {said}{effect_text(field)}")


def verdict_line(body: dict[str, Any]) -> str:
    if body["verdict"] == "open":
        return f"open, as {body['wireName']}"
    status = f": {body['status']}" if body.get("status") else ""
    return f"{body['verdict']}{status}. {body['sentence']}"
