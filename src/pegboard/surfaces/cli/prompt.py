"""`pegboard prompt`: what a model would be sent for a query, why, and what it costs."""

import json
import re
from typing import Any, Final

import click

from pegboard.core.prompting import MIN_BUDGET_TOKENS
from pegboard.core.retrieval import MAX_QUERY_CHARS

from .filtering import filter_params, with_filter
from .link import ApiClient
from .options import call_api, every_server, gateway_command, view_params, with_view
from .output import Exit, fail, print_json, print_text
from .text import clean, one_line, table

_MARKS: Final = {"in": "✓", "callable": "~", "deferred": "~", "out": "✗"}
_MODEL_SIZE: Final = re.compile(r"(?=[0-9.]*[1-9])([0-9]{1,5}(?:\.[0-9]{1,6})?)([bmt]?)", re.IGNORECASE)
_BILLIONS_BY_UNIT: Final = {"m": 0.001, "b": 1.0, "t": 1000.0, "": 1.0}


@click.command()
@click.option("--model", required=True, help="The model, as its server calls it: qwen3:8b.")
@click.option("--query", default="", help="What its user says: tools are searched by it.")
@click.option("--format", "format_name", help="Prefer this format, whether it is switched on or not.")
@click.option("--budget", type=click.IntRange(MIN_BUDGET_TOKENS, 1_000_000), help="Tokens that the prompt may cost.")
@click.option("--parameters", help="How many the model has, such as 8b or 300m, where its name does not tell it.")
@click.option("--tool-calling/--no-tool-calling", default=None, help="Whether its server takes a tools array for it.")
@click.option("--tool", help="Tell of this tool which step put it into the prompt or kept it out.")
@with_filter
@with_view
@gateway_command(every_server)
async def prompt(
    api: ApiClient,
    model: str,
    query: str,
    format_name: str | None,
    budget: int | None,
    parameters: str | None,
    tool_calling: bool | None,
    tool: str | None,
    toolsets: str | None,
    enabled_tools: str | None,
    disabled_tools: str | None,
    principal: str,
    *,
    as_json: bool,
    **filters: str | None,
) -> None:
    """What a model would be sent for a query, part by part, with the reason and the cost of each."""
    if len(query) > MAX_QUERY_CHARS:
        fail(Exit.USAGE, f"the query has {len(query)} characters; say in at most {MAX_QUERY_CHARS} what is wanted.")
    said = {
        "format": format_name,
        "budget": None if budget is None else str(budget),
        "billions": None if parameters is None else str(_parse_billions(parameters)),
        "tool_calling": None if tool_calling is None else str(tool_calling).lower(),
        "tool": tool,
    }
    given = [(name, value) for name, value in said.items() if value is not None]
    view = view_params(toolsets, enabled_tools, disabled_tools, principal)
    params = [("model", model), ("query", query), *given, *filter_params(filters), *view]
    body = await call_api(api, "GET", "/prompt", params=params)
    if as_json:
        print_json(body)
        return
    print_text("\n\n".join(_sections(body)))


def _parse_billions(text: str) -> float:
    written = _MODEL_SIZE.fullmatch(text.strip())
    if written is None:
        fail(Exit.USAGE, f"--parameters is {text!r}; write how many, such as 8b, 1.7b or 300m.")
    return round(float(written[1]) * _BILLIONS_BY_UNIT[written[2].lower()], 6)


def _sections(body: dict[str, Any]) -> list[str]:
    model = body["model"]
    sections = ["\n".join((one_line(model["name"]), *(f"  {one_line(each)}" for each in model["whence"])))]
    if (why := body.get("why")) is not None:
        sections.append(_ruling_line(why))
    primary = body["primary"] or "none: the model can call no tool"
    sections.append("\n".join((f"Format: {primary}", *map(_ruling_line, body["formats"]))))
    sections.append("\n".join(("Built-ins", *map(_ruling_line, body["builtins"]))))
    sections.append("\n".join(("Search before the first turn", *(f"  {one_line(each)}" for each in body["search"]))))
    rows = [(part["kind"], str(part["tokens"]), part["why"]) for part in body["parts"]]
    total = f"{body['tokens']} of {body['budget']} tokens, by estimate"
    sections.append(f"{table(('PART', 'TOKENS', 'WHY'), rows)}\n{total}")
    if body["tools"]:
        tools = [(each["name"], str(each["tokens"]), each["why"]) for each in body["tools"]]
        sections.append(table(("TOOL", "TOKENS", "WHY"), tools))
    sections += [_ruling_line(each) for each in body["leftOut"]]
    sections.append(f"System prompt\n\n{clean(body['system']) or '(none)'}")
    if "tools" in body["request"]:
        array = "\n".join(json.dumps(each, ensure_ascii=False) for each in body["request"]["tools"])
        sections.append(f"Tools array\n\n{clean(array)}")
    return sections


def _ruling_line(ruling: dict[str, Any]) -> str:
    return f"  {_MARKS[ruling['place']]} {ruling['subject']}  {ruling['place']}, because {one_line(ruling['why'])}"
