"""`pegboard tools …` and `pegboard why`: what is on the board, one tool in full, a call, and the reasons."""

import json
import sys
from typing import Any

import click

from .link import Api
from .options import asked, asks, view_params, with_view
from .output import Exit, clean_lines, document, fail, say, table, tell

MARKS = {"open": "●", "locked": "○", "absent": "·"}


@click.group()
def tools() -> None:
    """Tools: everything on the board, open or not."""


@tools.command("list")
@click.option("--open", "only_open", is_flag=True, help="Only those that can be called.")
@with_view
@asks(live=True)
async def list_tools(
    api: Api,
    only_open: bool,
    toolsets: str | None,
    enabled_tools: str | None,
    disabled_tools: str | None,
    principal: str,
    *,
    as_json: bool,
) -> None:
    """Every tool with its verdict: open, locked with its status, or absent from this view."""
    params = view_params(toolsets, enabled_tools, disabled_tools, principal)
    body = await asked(api, "GET", "/tools", params=params)
    if only_open:
        body["tools"] = [tool for tool in body["tools"] if tool["verdict"] == "open"]
    if as_json:
        document(body)
        return
    for notice in body["notices"]:
        tell(f"! {notice['text']}")
    if not body["tools"]:
        say("No tools. See: pegboard servers list, pegboard doctor")
        return
    rows = [
        (f"{MARKS[tool['verdict']]} {tool['id']}", tool["wireName"] or "", tool.get("status") or tool["verdict"])
        for tool in body["tools"]
    ]
    say(table(("TOOL", "NAME FOR CLIENTS", "STATUS"), rows))
    count = sum(tool["verdict"] == "open" for tool in body["tools"])
    say(f"\n{count} of {len(rows)} can be called. For a reason: pegboard why TOOL")


@tools.command("show")
@click.argument("tool")
@with_view
@asks(live=True)
async def show(
    api: Api,
    tool: str,
    toolsets: str | None,
    enabled_tools: str | None,
    disabled_tools: str | None,
    principal: str,
    *,
    as_json: bool,
) -> None:
    """One tool in full: its words, its schema, its status and remedy."""
    params = [("tool", tool), *view_params(toolsets, enabled_tools, disabled_tools, principal)]
    body = await asked(api, "GET", "/tools/show", params=params)
    if as_json:
        document(body)
        return
    say(body["id"])
    say(f"  {_verdict_line(body)}")
    if body.get("remedy"):
        say(f"  {body['remedy']}")
    for label, key in (("name for clients", "wireName"), ("title", "title"), ("fingerprint", "fingerprint")):
        if body.get(key):
            say(clean_lines(f"  {label}: {body[key]}"))
    if body["description"]:
        say()
        say(clean_lines(body["description"]))
    for label, key in (("takes", "inputSchema"), ("returns", "outputSchema"), ("annotations", "annotations")):
        if body.get(key):
            say(f"\n{label}:")
            say(json.dumps(body[key], indent=2, ensure_ascii=True))


@tools.command("call")
@click.argument("tool")
@click.argument("arguments", required=False)
@click.option(
    "--arg", "pairs", multiple=True, help="NAME=VALUE; the value is JSON, or else text. May be given many times."
)
@with_view
@asks(live=True)
async def call(
    api: Api,
    tool: str,
    arguments: str | None,
    pairs: tuple[str, ...],
    toolsets: str | None,
    enabled_tools: str | None,
    disabled_tools: str | None,
    principal: str,
    *,
    as_json: bool,
) -> None:
    """Call a tool: ARGUMENTS is a JSON object, or - to read it from standard input."""
    view = view_params(toolsets, enabled_tools, disabled_tools, principal)
    body: dict[str, object] = {"tool": tool, "as": principal, "arguments": _arguments(arguments, pairs)}
    for name in ("toolsets", "enabled_tools", "disabled_tools"):
        named = [value for key, value in view if key == name]
        if named:
            body[name] = [value for value in named if value]
    ended = await asked(api, "POST", "/call", body=body)
    codes = {
        "returned": Exit.OK,
        "tool_failed": Exit.FAILED,
        "cancelled": Exit.FAILED,
        "provider_failed": Exit.UNREACHABLE,
    }
    code = codes.get(ended["ended"], Exit.REFUSED)
    if as_json:
        document(ended)
        sys.exit(code)
    if "result" not in ended:
        sure = " It may have run: check before you call again." if ended.get("mayHaveRun") else ""
        fail(code, f"{ended.get('sentence', ended['ended'])}{sure}")
    say(clean_lines(_result_text(ended["result"])))
    sys.exit(code)


@click.command()
@click.argument("tool")
@with_view
@asks(live=True)
async def why(
    api: Api,
    tool: str,
    toolsets: str | None,
    enabled_tools: str | None,
    disabled_tools: str | None,
    principal: str,
    *,
    as_json: bool,
) -> None:
    """Why a tool is there or not: every step of the decision and what it said."""
    params = [("tool", tool), *view_params(toolsets, enabled_tools, disabled_tools, principal)]
    body = await asked(api, "GET", "/why", params=params)
    if as_json:
        document(body)
        return
    say(f"{body['id']}  {_verdict_line(body)}")
    if body.get("remedy"):
        say(f"  {body['remedy']}")
    say()
    for step in body["steps"]:
        say(clean_lines(f"  {'✓' if step['lets'] else '✗'} {step['asked']}  {step['said']}"))


def _verdict_line(body: dict[str, Any]) -> str:
    if body["verdict"] == "open":
        return f"open, as {body['wireName']}"
    status = f"{body['status']}: " if body.get("status") else ""
    return f"{body['verdict']}. {status}{body['sentence']}"


def _arguments(text: str | None, pairs: tuple[str, ...]) -> dict[str, Any]:
    if text == "-":
        text = sys.stdin.read()
    try:
        given = json.loads(text) if text else {}
    except ValueError as error:
        raise click.BadParameter(f"this is not JSON: {error}", param_hint="ARGUMENTS") from None
    if not isinstance(given, dict):
        raise click.BadParameter("the arguments must be a JSON object, like '{\"name\": 1}'", param_hint="ARGUMENTS")
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise click.BadParameter(f"{pair!r} is not NAME=VALUE", param_hint="--arg")
        try:
            given[name] = json.loads(value)
        except ValueError:
            given[name] = value
    return given


def _result_text(result: dict[str, Any]) -> str:
    parts = [
        block["text"] if block.get("type") == "text" else f"[{block.get('type', 'unknown')} content]"
        for block in result.get("content", [])
    ]
    if not parts and "structuredContent" in result:
        parts = [json.dumps(result["structuredContent"], indent=2, ensure_ascii=False)]
    return "\n".join(parts)
