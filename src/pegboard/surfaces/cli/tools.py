"""`pegboard tools` and `pegboard why`."""

import json
import sys
from typing import Any, Final

import click

from pegboard.core.model.ids import ServerKey, ToolId, ToolsetKey, parse_tool_id
from pegboard.core.model.text import truncate
from pegboard.core.presentations.retrieval import DEFAULT_RESULTS, MAX_QUERY_CHARS, MAX_RESULTS, AnswerDetail
from pegboard.surfaces.cli.api import ApiClient, ServerFilter
from pegboard.surfaces.cli.confirm import ask_yes_no
from pegboard.surfaces.cli.main import LazyCommand, LazyGroup
from pegboard.surfaces.cli.options import (
    GivenOptions,
    ViewOptions,
    call_api,
    every_server,
    fetch_cards,
    gateway_command,
    has_board_filter,
    parse_json_object,
    parse_json_pairs,
    with_board_filter,
    with_view,
)
from pegboard.surfaces.cli.output import (
    Exit,
    fail,
    one_line,
    print_json,
    print_progress,
    print_text,
    result_text,
    table,
)
from pegboard.surfaces.cli.overrides import author_text, effect_text, value_text

# `pegboard why`: the trail of one decision, every step and what it said.

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
    view: ViewOptions,
    *,
    as_json: bool,
) -> None:
    """Why a tool is there or not: every step of the decision and what it said."""
    params = [("tool", tool), *view.params()]
    if presentation is not None:
        params.append(("presentation", presentation))
    body = await call_api(api, "GET", "/why", params=params)
    if as_json:
        print_json(body)
        return
    print_text(f"{one_line(body['id'])}\n  {verdict_line(body)}")
    if body.get("remedy"):
        print_text(f"  {body['remedy']}")
    if body["action"]["kind"] == "edit_file" and body.get("status"):
        # Agents get the same remedy, and so it names no place of this machine.
        print_text(f"  {body['action']['label']}: {one_line(str(body['action']['target']))}")
    for each in body.get("otherReasons", ()):
        print_text(f"  And then: {one_line(each)}")
    if body.get("detail"):
        print_text(f"  {one_line(body['detail'])}")
    print_text()
    for step in body["steps"]:
        print_text(f"  {'✓' if step['passes'] else '✗'} {step['question']}  {step['answer']}")
    others = body.get("otherCallers", ())
    for each in others[:_MAX_OTHERS]:
        print_text(f"  ! Not for {each['principal']}: {each['message']}")
    if len(others) > _MAX_OTHERS:
        print_text("  ! Nor for others. For one of them: --as NAME")
    for entry in body["unknownNames"]:
        print_text(f"  ! {one_line(entry)}")
    for told in body["nameNotes"]:
        print_text(f"  ~ {told}")
    for field in body["overrides"]:
        said = (
            f"{field['field']} is {value_text(field['value'])}  {author_text(field['from'], field)} ({field['target']})"
        )
        print_text(f"  {'~' if field['effective'] else '-'} {said}{effect_text(field)}")


def verdict_line(body: dict[str, Any]) -> str:
    if body["verdict"] == "open":
        return f"open, as {body['wireName']}"
    status = f": {body['status']}" if body.get("status") else ""
    return f"{body['verdict']}{status}. {body['message']}"


MARKS: Final = {"open": "●", "locked": "○", "hidden": "·", "missing": "▨"}
_MAX_FLAWS: Final = 10
_GONE_KEYS: Final = ("id", "name", "wireName", "toolsetId", "serverId", "verdict", "message", "remedy")
"""What is told of a tool that its provider does not offer any more."""
CALL_CODES: Final = {
    "returned": Exit.OK,
    "tool_failed": Exit.FAILED,
    "cancelled": Exit.FAILED,
    "provider_failed": Exit.UNREACHABLE,
    "unknown_tool": Exit.NOT_FOUND,
}
"""How a call ended; every other word is why it was refused."""


@click.group(cls=LazyGroup, lazy={"search": LazyCommand("tools:search", "Search tools as an agent does.")})
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
    view: ViewOptions,
    *,
    as_json: bool,
    **sieve: Any,
) -> None:
    """Every tool with its verdict: open, locked with its status, or absent from this view. Filtered as the wall is."""
    params = view.params()
    body = await call_api(api, "GET", "/tools", params=params)
    if has_board_filter(sieve):
        pegs = await fetch_cards(api, params, sieve)
        gone = [{name: peg[name] for name in _GONE_KEYS} for peg in pegs.values() if peg["verdict"] == "missing"]
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
    for flaw in body["problems"][:_MAX_FLAWS]:
        print_progress(f"! {one_line(flaw['id'])} {one_line(flaw['message'])}")
    if len(body["problems"]) > _MAX_FLAWS:
        print_progress(f"! and {len(body['problems']) - _MAX_FLAWS:,} more: pegboard doctor")


@tools.command("show")
@click.argument("tool")
@with_view
@gateway_command(every_server)
async def show(
    api: ApiClient,
    tool: str,
    view: ViewOptions,
    *,
    as_json: bool,
) -> None:
    """One tool in full: its words, its schema, its status and remedy."""
    params = [("tool", tool), *view.params()]
    body = await call_api(api, "GET", "/tools/show", params=params)
    if as_json:
        print_json(body)
        return
    print_text(describe_tool(body))


def describe_tool(body: dict[str, Any]) -> str:
    lines = [one_line(body["id"]), f"  {verdict_line(body)}"]
    if body.get("remedy"):
        lines.append(f"  {body['remedy']}")
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
    source = id.source if isinstance(id, ToolId) and not given["view"].narrowing else None
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
    view: ViewOptions,
    *,
    as_json: bool,
) -> int:
    """Call a tool: ARGUMENTS is a JSON object, or - to read it from standard input."""
    body = {"tool": tool, "arguments": {**arguments, **pairs}, **view.body()}
    ended = await call_api(api, "POST", "/call", body=body, waiting=f"{tool} (Ctrl-C gives it up)")
    if ended["outcome"] == "confirmation_required" and not as_json and await _offer_decision(api, ended["ticket"]):
        ended = await call_api(api, "POST", "/call", body=body, waiting=f"{tool} (Ctrl-C gives it up)")
    code = CALL_CODES.get(ended["outcome"], Exit.REFUSED)
    if as_json:
        print_json(ended)
    elif "result" not in ended:
        hint = " It may have run: check before you call again." if ended.get("mayHaveRun") else ""
        hint = f" For the reason: pegboard why {tool}" if code == Exit.NOT_FOUND else hint
        told = ended.get("message", ended["outcome"])
        fail(code, f"{told.rstrip('.')}.{hint}" if hint else told)
    else:
        print_text(result_text(ended["result"]))
        if code == Exit.FAILED:
            print_progress(f"{tool} says that it failed.")
    return code


async def _offer_decision(api: ApiClient, ticket: str) -> bool:
    # Imported here, because every other command of this group does without what tickets need.
    from pegboard.surfaces.cli.tickets import decide_at_terminal

    return await decide_at_terminal(api, ticket)


# `pegboard tools enable|disable|approve`: what a person decides about one tool.


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
@click.option("--fingerprint", help="The fingerprint you read in tools show; without it you are shown and asked.")
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
            f"Then: pegboard tools approve {body['id']} --fingerprint {fingerprint}",
        )
    print_text(describe_tool(body))
    if not await ask_yes_no("\nApprove it exactly so?"):
        fail(Exit.REFUSED, "not approved; nothing was changed.")
    return fingerprint


async def _switch_tool(api: ApiClient, tool: str, on: bool, note: str, *, as_json: bool) -> None:
    body = await call_api(api, "POST", "/tools/switch", body={"tool": tool, "enabled": on, "note": note})
    print_json(body) if as_json else print_text(_switch_outcome(body, on))


def _switch_outcome(body: dict[str, Any], on: bool) -> str:
    """What came of it: a switch opens nothing that something else keeps locked."""
    if not on:
        return f"{body['id']} is switched off."
    if body["verdict"] == "locked":
        why = f"{body['status']}. {body['message']} {body['remedy']}"
        return f"{body['id']} is switched on, and stays locked all the same: {why}"
    if body["switch"] is None:
        return f"{body['id']} is switched on."
    return f"{body['id']} is switched on, against an override that takes it away. Its switch stays the stronger."


# `pegboard tools search`: what an agent finds with retrieve_tools, for any view.

FLAGS: Final = ("include_disabled", "read_only_only", "exclude_destructive", "exclude_open_world", "explain")
_TEXT_WIDTH: Final = 80


@click.command()
@click.argument("query")
@click.option(
    "--limit",
    default=DEFAULT_RESULTS,
    show_default=True,
    type=click.IntRange(1, MAX_RESULTS),
    help="Callable tools at most.",
)
@click.option("--include-disabled", is_flag=True, help="Also those that are locked, and what unlocks them.")
@click.option("--read-only", "read_only_only", is_flag=True, help="Only tools that say they change nothing.")
@click.option("--exclude-destructive", is_flag=True, help="Not those that may destroy something.")
@click.option("--exclude-open-world", is_flag=True, help="Not those that reach beyond their own system.")
@click.option("--server", default="", help="Only tools of this server.")
@click.option("--toolset", default="", help="Only tools of this toolset.")
@click.option("--explain", is_flag=True, help="Which words made each rank, and what was left out.")
@click.option("--full", is_flag=True, help="With --json, the whole schema of each tool instead of a line.")
@with_view
@gateway_command(every_server)
async def search(
    api: ApiClient,
    query: str,
    limit: int,
    server: str,
    toolset: str,
    full: bool,
    view: ViewOptions,
    *,
    as_json: bool,
    **flags: bool,
) -> None:
    """Find tools by what they do: the answer that an agent gets from retrieve_tools."""
    if not query.strip() or len(query) > MAX_QUERY_CHARS:
        told = f"has {len(query)} characters" if query.strip() else "is blank"
        fail(Exit.USAGE, f"the query {told}; say in 1 to {MAX_QUERY_CHARS} characters what you want to do.")
    said = [(name, str(flags[name]).lower()) for name in FLAGS]
    places = [("server", server), ("toolset", toolset), ("detail", AnswerDetail.FULL if full else AnswerDetail.COMPACT)]
    params = [("query", query), ("limit", str(limit)), *said, *places, *view.params()]
    body = await call_api(api, "GET", "/tools/search", params=params)
    if as_json:
        print_json(body, compact=True)
        return
    print_text("\n\n".join(_sections(body)))


def _sections(body: dict[str, Any]) -> list[str]:
    sections: list[str] = []
    if body["tools"]:
        sections.append(table(("TOOL", "SERVER", "DESCRIPTION"), [_tool_row("open", tool) for tool in body["tools"]]))
    else:
        sections.append("No tool that can be called fits this query.")
    if (explained := body.get("explanation")) is not None:
        sections.append("\n".join((*map(_rank_text, body["tools"]), _omitted_lines(explained))))
    if (left_out := body.get("filter_diagnostics")) is not None:
        told = [_omitted_text("", left_out), _omitted_text(" locked ones", left_out.get("locked", {}))]
        sections.append(" ".join(filter(None, [*told, left_out.get("suggestion", "")])))
    if "disabled" in body:
        locked = [(_tool_row("locked", tool), tool["status"]) for tool in body["disabled"]]
        rows = [(name, server, status, description) for (name, server, description), status in locked]
        sections.append(table(("LOCKED", "SERVER", "STATUS", "DESCRIPTION"), rows))
        sections.append("\n".join(f"{status}: {remedy}" for status, remedy in body["remediation"].items()))
    if "notice" in body:
        sections.append(body["notice"].replace("include_disabled", "--include-disabled"))
    return sections


def _rank_text(tool: dict[str, Any]) -> str:
    """The words that made its rank, the best first, each with the fields that it is in."""
    explanation = tool["explanation"]
    words = [f"{each['word']} ({', '.join(each['fields'])})" for each in explanation.get("words", ())]
    words += ["called by its name"] if explanation.get("exact_name") else []
    words += [f"meaning {explanation['meaning']}"] if "meaning" in explanation else []
    return f"{tool['name']} {explanation.get('score', '')}: {', '.join(words)}"


def _omitted_lines(explained: dict[str, Any]) -> str:
    words, omitted = explained["words"], explained["omitted"]
    told = [f"Of {explained['searched']} tools {explained['matched']} match and {explained['shown']} are shown."]
    if words["unmatched"]:
        told.append(f"No tool has: {', '.join(words['unmatched'])}.")
    if words["ignored"]:
        told.append(f"Passed over: {', '.join(words['ignored'])}.")
    if omitted["locked"]:
        told.append(f"{omitted['locked']} that match are locked.")
    return " ".join(told)


def _omitted_text(what: str, counted: dict[str, Any]) -> str:
    if not counted.get("omitted_total"):
        return ""
    by = ", ".join(f"{_flag_name(name)} {sum(tally.values())}" for name, tally in counted["omitted_by_filter"].items())
    return f"The filters left out {counted['omitted_total']} of {counted['matched_before_filters']}{what}: {by}."


def _flag_name(filter: str) -> str:
    return "--read-only" if filter == "read_only_only" else f"--{filter.replace('_', '-')}"


def _tool_row(verdict: str, tool: dict[str, Any]) -> tuple[str, str, str]:
    return f"{MARKS[verdict]} {tool['name']}", tool["server"], _shorten(tool.get("description", ""))


def _shorten(text: str) -> str:
    line = one_line(text.strip())
    return truncate(line, _TEXT_WIDTH, total=True)
