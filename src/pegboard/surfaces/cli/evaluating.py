"""`pegboard search eval`: whether queries find the tools that they should, for a person and for CI."""

from pathlib import Path
from typing import Any, Final

import click

from pegboard.config.files import decoded, read_bytes
from pegboard.config.problem import Problem
from pegboard.config.tree import Unreadable, plain
from pegboard.config.yaml_text import parse_yaml
from pegboard.core.retrieval import FEW, MOST

from .link import Api
from .options import asked, asks, every_server
from .output import Exit, document, fail, say, tell
from .text import table

_LARGEST: Final = 1_000_000


@click.command("eval")
@click.argument("file", required=False, type=click.Path(path_type=Path, dir_okay=False))
@click.option("--limit", default=FEW, show_default=True, type=click.IntRange(1, MOST), help="Look among so many.")
@click.option(
    "--least",
    default=1.0,
    show_default=True,
    type=click.FloatRange(0, 1),
    help="End with 1 when fewer of the queries find a tool that they should.",
)
@asks(every_server)
async def evaluate(api: Api, file: Path | None, limit: int, least: float, *, as_json: bool) -> int:
    """Run queries with the tools that they should find: those of FILE, or those that are saved.

    FILE is YAML or JSON: a list, or a map with the key queries, of {query, expected: [tools], name, as}.
    """
    body: dict[str, object] = {"limit": limit}
    if file is not None:
        body["queries"] = _queries(file)
    told = await asked(api, "POST", "/search/queries/run", body=body)
    if not told["queries"]:
        fail(Exit.NOT_FOUND, "no query is saved, and no FILE was named. Save one in the search playground.")
    passed = told["rates"]["hits"] >= least
    if as_json:
        document({**told, "least": least, "passed": passed})
    else:
        say(table(("QUERY", "EXPECTED", "RANK"), [row for each in told["queries"] for row in _rows(each)]))
        say(f"\n{_summed(told)}")
        if not passed:
            tell(f"Fewer than {least:.0%} of the queries found a tool that they should.")
    return Exit.OK if passed else Exit.FAILED


def _queries(file: Path) -> list[object]:
    read = read_bytes(file, _LARGEST)
    text = read if isinstance(read, Problem) else decoded(read, str(file))
    if isinstance(text, Problem):
        fail(Exit.CONFIG, str(text))
    parsed = parse_yaml(text, str(file))
    if isinstance(parsed, Unreadable):
        fail(Exit.CONFIG, "; ".join(map(str, parsed.problems)))
    value = None if parsed.root is None else plain(parsed.root)
    found = value.get("queries") if isinstance(value, dict) else value
    if not isinstance(found, list) or not found:
        fail(Exit.CONFIG, f"{file} has no list of queries. Write a list of {{query: …, expected: [tool, …]}}.")
    return [*found]


def _rows(each: dict[str, Any]) -> list[tuple[str, ...]]:
    mark = "●" if each["hit"] else "○"
    first = f"{mark} {each['name']}"
    return [
        (first if place == 0 else "", tool["id"], str(tool["rank"] or "") or f"not found. {tool['why']}".strip())
        for place, tool in enumerate(each["expected"])
    ]


def _summed(told: dict[str, Any]) -> str:
    rates, hits = told["rates"], sum(each["hit"] for each in told["queries"])
    return (
        f"{hits} of {len(told['queries'])} queries find a tool that they should among {told['limit']} "
        f"({rates['hits']:.0%}); first: {rates['first']:.0%}, expected tools found: {rates['recall']:.0%}, "
        f"mean reciprocal rank: {rates['reciprocalRank']:.2f}."
    )
