"""`pegboard tools search`: what an agent finds with retrieve_tools, for any view."""

from typing import Any, Final

import click

from pegboard.core.retrieval import FEW, LONGEST_QUERY, MOST

from .addressed import to_you
from .link import Api
from .options import asked, asks, every_server, view_params, with_view
from .output import Exit, document, fail, say
from .text import one_line, table
from .tools import MARKS

FLAGS: Final = ("include_disabled", "read_only_only", "exclude_destructive", "exclude_open_world")
_WIDTH: Final = 80


@click.command()
@click.argument("query")
@click.option("--limit", default=FEW, show_default=True, type=click.IntRange(1, MOST), help="Callable tools at most.")
@click.option("--include-disabled", is_flag=True, help="Also those that are locked, and what unlocks them.")
@click.option("--read-only", "read_only_only", is_flag=True, help="Only tools that say they change nothing.")
@click.option("--exclude-destructive", is_flag=True, help="Not those that may destroy something.")
@click.option("--exclude-open-world", is_flag=True, help="Not those that reach beyond their own system.")
@with_view
@asks(every_server)
async def search(
    api: Api,
    query: str,
    limit: int,
    toolsets: str | None,
    enabled_tools: str | None,
    disabled_tools: str | None,
    principal: str,
    *,
    as_json: bool,
    **flags: bool,
) -> None:
    """Find tools by what they do: the answer that an agent gets from retrieve_tools."""
    if not query.strip() or len(query) > LONGEST_QUERY:
        told = f"has {len(query)} characters" if query.strip() else "is blank"
        fail(Exit.USAGE, f"the query {told}; say in 1 to {LONGEST_QUERY} characters what you want to do.")
    view = view_params(toolsets, enabled_tools, disabled_tools, principal)
    said = [(name, str(flags[name]).lower()) for name in FLAGS]
    params = [("query", query), ("limit", str(limit)), *said, *view]
    body = await asked(api, "GET", "/tools/search", params=params)
    if as_json:
        document(body, compact=True)
        return
    say("\n\n".join(_sections(body)))


def _sections(body: dict[str, Any]) -> list[str]:
    sections: list[str] = []
    if body["tools"]:
        sections.append(table(("TOOL", "SERVER", "DESCRIPTION"), [_row("open", tool) for tool in body["tools"]]))
    else:
        sections.append("No tool that can be called fits this query.")
    if (left_out := body.get("filter_diagnostics")) is not None:
        told = [_left_out("", left_out), _left_out(" locked ones", left_out.get("locked", {}))]
        sections.append(" ".join(filter(None, [*told, left_out.get("suggestion", "")])))
    if "disabled" in body:
        locked = [(_row("locked", tool), tool["status"]) for tool in body["disabled"]]
        rows = [(name, server, status, description) for (name, server, description), status in locked]
        sections.append(table(("LOCKED", "SERVER", "STATUS", "DESCRIPTION"), rows))
        sections.append("\n".join(f"{status}: {to_you(remedy)}" for status, remedy in body["remediation"].items()))
    if "notice" in body:
        sections.append(body["notice"].replace("include_disabled", "--include-disabled"))
    return sections


def _left_out(what: str, counted: dict[str, Any]) -> str:
    if not counted.get("omitted_total"):
        return ""
    by = ", ".join(f"{name} {sum(tally.values())}" for name, tally in counted["omitted_by_filter"].items())
    return f"The filters left out {counted['omitted_total']} of {counted['matched_before_filters']}{what}: {by}."


def _row(verdict: str, tool: dict[str, Any]) -> tuple[str, str, str]:
    return f"{MARKS[verdict]} {tool['name']}", tool["server"], _start(tool.get("description", ""))


def _start(text: str) -> str:
    line = one_line(text.strip())
    return line if len(line) <= _WIDTH else line[: _WIDTH - 1] + "…"
