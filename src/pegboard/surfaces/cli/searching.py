"""`pegboard tools search`: what an agent finds with retrieve_tools, for any view."""

from typing import Any, Final

import click

from pegboard.core.addressed import address_user
from pegboard.core.retrieval import DEFAULT_RESULTS, MAX_QUERY_CHARS, MAX_RESULTS, AnswerDetail

from .link import ApiClient
from .options import call_api, every_server, gateway_command, view_params, with_view
from .output import Exit, fail, print_json, print_text
from .text import one_line, table
from .tools import MARKS

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
    toolsets: str | None,
    enabled_tools: str | None,
    disabled_tools: str | None,
    principal: str,
    *,
    as_json: bool,
    **flags: bool,
) -> None:
    """Find tools by what they do: the answer that an agent gets from retrieve_tools."""
    if not query.strip() or len(query) > MAX_QUERY_CHARS:
        told = f"has {len(query)} characters" if query.strip() else "is blank"
        fail(Exit.USAGE, f"the query {told}; say in 1 to {MAX_QUERY_CHARS} characters what you want to do.")
    view = view_params(toolsets, enabled_tools, disabled_tools, principal)
    said = [(name, str(flags[name]).lower()) for name in FLAGS]
    places = [("server", server), ("toolset", toolset), ("detail", AnswerDetail.FULL if full else AnswerDetail.COMPACT)]
    params = [("query", query), ("limit", str(limit)), *said, *places, *view]
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
        sections.append(
            "\n".join(f"{status}: {address_user(remedy)}" for status, remedy in body["remediation"].items())
        )
    if "notice" in body:
        sections.append(body["notice"].replace("include_disabled", "--include-disabled"))
    return sections


def _rank_text(tool: dict[str, Any]) -> str:
    """The words that made its rank, the best first, each with the fields that it is in."""
    why = tool["why"]
    words = [f"{each['word']} ({', '.join(each['fields'])})" for each in why.get("words", ())]
    words += ["called by its name"] if why.get("exact_name") else []
    words += [f"meaning {why['meaning']}"] if "meaning" in why else []
    return f"{tool['name']} {why.get('score', '')}: {', '.join(words)}"


def _omitted_lines(explained: dict[str, Any]) -> str:
    words, left_out = explained["words"], explained["left_out"]
    told = [f"Of {explained['searched']} tools {explained['matched']} match and {explained['shown']} are shown."]
    if words["found_nowhere"]:
        told.append(f"No tool has: {', '.join(words['found_nowhere'])}.")
    if words["passed_over"]:
        told.append(f"Passed over: {', '.join(words['passed_over'])}.")
    if left_out["locked"]:
        told.append(f"{left_out['locked']} that match are locked.")
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
    return line if len(line) <= _TEXT_WIDTH else line[: _TEXT_WIDTH - 1] + "…"
