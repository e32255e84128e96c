"""`pegboard search eval`: whether queries find the tools that they should, for a person and for CI."""

from pathlib import Path
from typing import Any, Final

import click

from pegboard.config.files import decode_text, read_bytes
from pegboard.config.problem import FileProblem
from pegboard.config.tree import UnreadableFileError, to_json
from pegboard.config.yaml_text import parse_yaml
from pegboard.core.retrieval import DEFAULT_RESULTS, MAX_RESULTS

from .link import ApiClient
from .options import call_api, every_server, gateway_command
from .output import Exit, fail, print_json, print_progress, print_text
from .text import table

_MAX_FILE_BYTES: Final = 1_000_000


@click.command("eval")
@click.argument("file", required=False, type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--limit",
    default=DEFAULT_RESULTS,
    show_default=True,
    type=click.IntRange(1, MAX_RESULTS),
    help="Look among so many.",
)
@click.option(
    "--least",
    default=1.0,
    show_default=True,
    type=click.FloatRange(0, 1),
    help="End with 1 when fewer of the queries find a tool that they should.",
)
@gateway_command(every_server)
async def evaluate(api: ApiClient, file: Path | None, limit: int, least: float, *, as_json: bool) -> int:
    """Run queries with the tools that they should find: those of FILE, or those that are saved.

    FILE is YAML or JSON: a list, or a map with the key queries, of {query, expected: [tools], name, as}.
    """
    body: dict[str, object] = {"limit": limit}
    if file is not None:
        body["queries"] = _read_queries(file)
    told = await call_api(api, "POST", "/search/queries/run", body=body)
    if not told["queries"]:
        fail(Exit.NOT_FOUND, "no query is saved, and no FILE was named. Save one in the search playground.")
    passed = told["rates"]["hits"] >= least
    if as_json:
        print_json({**told, "least": least, "passed": passed})
    else:
        print_text(
            table(("QUERY", "EXPECTED", "RANK"), [row for each in told["queries"] for row in _result_rows(each)])
        )
        print_text(f"\n{_summary_text(told)}")
        if not passed:
            print_progress(f"Fewer than {least:.0%} of the queries found a tool that they should.")
    return Exit.OK if passed else Exit.FAILED


def _read_queries(file: Path) -> list[object]:
    read = read_bytes(file, _MAX_FILE_BYTES)
    text = read if isinstance(read, FileProblem) else decode_text(read, str(file))
    if isinstance(text, FileProblem):
        fail(Exit.CONFIG, str(text))
    parsed = parse_yaml(text, str(file))
    if isinstance(parsed, UnreadableFileError):
        fail(Exit.CONFIG, "; ".join(map(str, parsed.problems)))
    value = None if parsed.root is None else to_json(parsed.root)
    found = value.get("queries") if isinstance(value, dict) else value
    if not isinstance(found, list) or not found:
        fail(Exit.CONFIG, f"{file} has no list of queries. Write a list of {{query: …, expected: [tool, …]}}.")
    return [*found]


def _result_rows(each: dict[str, Any]) -> list[tuple[str, ...]]:
    mark = "●" if each["hit"] else "○"
    first = f"{mark} {each['name']}"
    return [
        (first if place == 0 else "", tool["id"], str(tool["rank"] or "") or f"not found. {tool['why']}".strip())
        for place, tool in enumerate(each["expected"])
    ]


def _summary_text(told: dict[str, Any]) -> str:
    rates, hits = told["rates"], sum(each["hit"] for each in told["queries"])
    return (
        f"{hits} of {len(told['queries'])} queries find a tool that they should among {told['limit']} "
        f"({rates['hits']:.0%}); first: {rates['first']:.0%}, expected tools found: {rates['recall']:.0%}, "
        f"mean reciprocal rank: {rates['reciprocalRank']:.2f}."
    )
