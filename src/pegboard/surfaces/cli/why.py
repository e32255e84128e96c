"""`pegboard why`: the trail of one decision, every step and what it said."""

from typing import Any

import click

from pegboard.core.addressed import to_you

from .link import Api
from .options import asked, asks, every_server, view_params, with_view
from .output import document, say
from .overrides import effect_of, shown, whose
from .text import one_line

_OTHERS = 20
"""Callers who do not get it that are named."""


@click.command()
@click.argument("tool")
@click.option(
    "--presentation",
    type=click.Choice(["direct", "meta", "search", "deferred", "code"]),
    help="Whether it is listed at the endpoint of this presentation.",
)
@with_view
@asks(every_server)
async def why(
    api: Api,
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
    body = await asked(api, "GET", "/why", params=params)
    if as_json:
        document(body)
        return
    say(f"{one_line(body['id'])}\n  {verdict_line(body)}")
    if body.get("remedy"):
        say(f"  {to_you(body['remedy'])}")
    if body["action"]["kind"] == "edit_file" and body.get("status"):
        # The remedy is told to agents, too, and so it names no place of this machine.
        say(f"  {body['action']['label']}: {one_line(str(body['action']['target']))}")
    for each in body.get("more", ()):
        say(f"  And then: {one_line(each)}")
    if body.get("detail"):
        say(f"  {one_line(body['detail'])}")
    say()
    for step in body["steps"]:
        say(f"  {'✓' if step['lets'] else '✗'} {step['asked']}  {to_you(step['said'])}")
    others = body.get("others", ())
    for each in others[:_OTHERS]:
        say(f"  ! Not for {each['principal']}: {each['sentence']}")
    if len(others) > _OTHERS:
        say("  ! Nor for others. For one of them: --as NAME")
    for entry in body["unknownNames"]:
        say(f"  ! {one_line(entry)}")
    for told in body["naming"]:
        say(f"  ~ {told}")
    for field in body["overrides"]:
        said = f"{field['field']} is {shown(field['value'])}  {whose(field['from'], field)} ({field['target']})"
        say(f"  {'~' if field['inForce'] else '-'} {said}{effect_of(field)}")


def verdict_line(body: dict[str, Any]) -> str:
    if body["verdict"] == "open":
        return f"open, as {body['wireName']}"
    status = f": {body['status']}" if body.get("status") else ""
    return f"{body['verdict']}{status}. {body['sentence']}"
