"""`pegboard tools …`: what is on the board, one tool in full, and a call."""

import json
from typing import Any, Final

import click

from pegboard.core.addressed import address_user
from pegboard.core.ids import ServerKey, ToolId, ToolsetKey, parse_tool_id

from .lazy_group import LazyCommand, LazyGroup
from .link import ApiClient, ServerFilter
from .options import GivenOptions, call_api, every_server, gateway_command, view_params, with_view
from .output import Exit, fail, print_json, print_progress, print_text
from .pairs import parse_json_object, parse_json_pairs
from .result import result_text
from .sifting import fetch_cards, has_board_filter, with_board_filter
from .text import one_line, table
from .why import verdict_line

MARKS: Final = {"open": "●", "locked": "○", "absent": "·", "gone": "▨"}
_MAX_FLAWS: Final = 10
_GONE_KEYS: Final = ("id", "name", "wireName", "toolsetId", "serverId", "verdict", "sentence", "remedy")
"""What is told of a tool that its provider does not offer any more."""
CALL_CODES: Final = {
    "returned": Exit.OK,
    "tool_failed": Exit.FAILED,
    "cancelled": Exit.FAILED,
    "provider_failed": Exit.UNREACHABLE,
    "unknown_tool": Exit.NOT_FOUND,
}
"""How a call ended; every other word is why it was refused."""


@click.group(cls=LazyGroup, lazy={"search": LazyCommand("searching:search", "Search tools as an agent does.")})
def tools() -> None:
    """Tools: everything on the board, open or not."""


@tools.command("list")
@click.option("--open", "only_open", is_flag=True, help="Only those that can be called.")
@with_board_filter
@with_view
@gateway_command(every_server)
async def list_tools(
    api: ApiClient,
    only_open: bool,
    toolsets: str | None,
    enabled_tools: str | None,
    disabled_tools: str | None,
    principal: str,
    *,
    as_json: bool,
    **sieve: Any,
) -> None:
    """Every tool with its verdict: open, locked with its status, or absent from this view. Filtered as the wall is."""
    params = view_params(toolsets, enabled_tools, disabled_tools, principal)
    body = await call_api(api, "GET", "/tools", params=params)
    if has_board_filter(sieve):
        pegs = await fetch_cards(api, params, sieve)
        gone = [{name: peg[name] for name in _GONE_KEYS} for peg in pegs.values() if peg["verdict"] == "gone"]
        body["tools"] = [*(tool for tool in body["tools"] if tool["id"] in pegs), *gone]
    if only_open:
        body["tools"] = [tool for tool in body["tools"] if tool["verdict"] == "open"]
    if as_json:
        print_json(body)
        return
    if not body["tools"]:
        none = "No tool passes these filters." if has_board_filter(sieve) or only_open else "No tools."
        print_text(f"{none} See: pegboard servers list, pegboard doctor")
        return
    rows = [
        (f"{MARKS[tool['verdict']]} {tool['id']}", tool["wireName"] or "", tool.get("status") or tool["verdict"])
        for tool in body["tools"]
    ]
    print_text(table(("TOOL", "NAME FOR CLIENTS", "STATUS"), rows))
    count = sum(tool["verdict"] == "open" for tool in body["tools"])
    print_text(f"\n{count} of {len(rows)} can be called. For a reason: pegboard why TOOL")
    for flaw in body["flaws"][:_MAX_FLAWS]:
        print_progress(f"! {one_line(flaw['id'])} {one_line(flaw['sentence'])}")
    if len(body["flaws"]) > _MAX_FLAWS:
        print_progress(f"! and {len(body['flaws']) - _MAX_FLAWS:,} more: pegboard doctor")


@tools.command("show")
@click.argument("tool")
@with_view
@gateway_command(every_server)
async def show(
    api: ApiClient,
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
    body = await call_api(api, "GET", "/tools/show", params=params)
    if as_json:
        print_json(body)
        return
    print_text(describe_tool(body))


def describe_tool(body: dict[str, Any]) -> str:
    lines = [one_line(body["id"]), f"  {verdict_line(body)}"]
    if body.get("remedy"):
        lines.append(f"  {address_user(body['remedy'])}")
    if body.get("detail"):
        lines.append(f"  {one_line(body['detail'])}")
    for label, key in (("name for clients", "wireName"), ("title", "title"), ("fingerprint", "fingerprint")):
        if body.get(key):
            lines.append(f"  {label}: {one_line(body[key])}")
    if body["description"]:
        lines.append(f"\n{body['description']}")
    for label, key in (("takes", "inputSchema"), ("returns", "outputSchema"), ("annotations", "annotations")):
        if body.get(key):
            lines.append(f"\n{label}:\n{json.dumps(body[key], indent=2, ensure_ascii=False)}")
    return "\n".join(lines)


def _servers_of_call(given: GivenOptions) -> ServerFilter:
    """An id names its server, so no other has to start; a narrowing may name tools of any."""
    id = parse_tool_id(given["tool"])
    narrowed = any(given[name] is not None for name in ("toolsets", "enabled_tools", "disabled_tools"))
    source = id.source if isinstance(id, ToolId) and not narrowed else None
    wanted = str(source)
    if isinstance(source, ServerKey):
        return lambda key, _: key == wanted
    if isinstance(source, ToolsetKey):
        # It may stand for a server's tool too, with the toolset or the server's id before it.
        return lambda key, server: wanted in (key, server, key.partition("~")[0])
    return every_server(given)


@tools.command("call")
@click.argument("tool")
@click.argument("arguments", required=False, callback=parse_json_object)
@click.option(
    "--arg",
    "pairs",
    multiple=True,
    callback=parse_json_pairs,
    help="NAME=VALUE; the value is JSON, or else text. May be repeated.",
)
@with_view
@gateway_command(_servers_of_call)
async def call(
    api: ApiClient,
    tool: str,
    arguments: dict[str, Any],
    pairs: dict[str, Any],
    toolsets: str | None,
    enabled_tools: str | None,
    disabled_tools: str | None,
    principal: str,
    *,
    as_json: bool,
) -> int:
    """Call a tool: ARGUMENTS is a JSON object, or - to read it from standard input."""
    view = view_params(toolsets, enabled_tools, disabled_tools, principal)
    body: dict[str, object] = {"tool": tool, "as": principal, "arguments": {**arguments, **pairs}}
    for name in ("toolsets", "enabled_tools", "disabled_tools"):
        named = [value for key, value in view if key == name]
        if named:
            body[name] = [value for value in named if value]
    ended = await call_api(api, "POST", "/call", body=body, waiting=f"{tool} (Ctrl-C gives it up)")
    if ended["ended"] == "confirmation_required" and not as_json and await _offer_decision(api, ended["ticket"]):
        ended = await call_api(api, "POST", "/call", body=body, waiting=f"{tool} (Ctrl-C gives it up)")
    code = CALL_CODES.get(ended["ended"], Exit.REFUSED)
    if as_json:
        print_json(ended)
    elif "result" not in ended:
        hint = " It may have run: check before you call again." if ended.get("mayHaveRun") else ""
        hint = f" For the reason: pegboard why {tool}" if code == Exit.NOT_FOUND else hint
        told = address_user(ended.get("sentence", ended["ended"]))
        fail(code, f"{told.rstrip('.')}.{hint}" if hint else told)
    else:
        print_text(result_text(ended["result"]))
        if code == Exit.FAILED:
            print_progress(f"{tool} says that it failed.")
    return code


async def _offer_decision(api: ApiClient, ticket: str) -> bool:
    # Imported here, because every other command of this group does without what tickets need.
    from .tickets import decide_at_terminal

    return await decide_at_terminal(api, ticket)
