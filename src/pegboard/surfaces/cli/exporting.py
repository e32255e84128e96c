"""`pegboard activity export`: everything that fits, page by page: many records take no more memory than a page."""

import csv
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TextIO

import click

from .link import ApiClient
from .narrowing import activity_filter_params, with_activity_filter
from .options import call_api, gateway_command
from .output import CommandExit, Exit, fail, print_json, print_progress
from .text import clean, clean_json

PAGE_SIZE: Final = 1000
COLUMNS: Final = (
    "id", "at", "kind", "principal", "client", "name", "about", "outcome", "said", "policyVersion", "tookMs",
    "argumentBytes", "resultBytes", "argumentTokens", "resultTokens", "arguments", "result", "callId", "parentId",
    "presentation",
)  # fmt: skip


@click.command()
@with_activity_filter
@click.option(
    "--format",
    "as_what",
    type=click.Choice(["jsonl", "csv"]),
    default="jsonl",
    show_default=True,
    help="JSON lines, or CSV.",
)
@click.option("--to", "file", type=click.Path(path_type=Path, dir_okay=False), help="A new file, not standard output.")
@gateway_command()
async def export(api: ApiClient, as_what: str, file: Path | None, *, as_json: bool, **narrowing: Any) -> None:
    """Everything that fits, the oldest first: JSON lines or CSV, to standard output or a file.

    What comes while it runs is left for the next time. With --json and --to, how many were written is told as JSON.
    """
    until = (await call_api(api, "GET", "/activity/latest"))["latest"]
    after = written = 0
    with _open_output(file) as out:
        write = _json_lines_writer(out) if as_what == "jsonl" else _csv_writer(out)
        while after < until:
            params = [*activity_filter_params(narrowing), ("limit", str(PAGE_SIZE)), ("after", str(after))]
            page = await call_api(api, "GET", "/activity/after", params=params)
            fitting = [record for record in page["activity"] if record["id"] <= until]
            for record in fitting:
                write(record)
            written += len(fitting)
            after = page["after"]
    if file is not None:
        told = {"file": str(file), "format": as_what, "records": written}
        print_json(told) if as_json else print_progress(f"{written} records are in {file}.")


def _json_lines_writer(out: TextIO) -> Callable[[Mapping[str, Any]], None]:
    def write(record: Mapping[str, Any]) -> None:
        out.write(f"{clean_json(json.dumps(record, ensure_ascii=False))}\n")

    return write


def _csv_writer(out: TextIO) -> Callable[[Mapping[str, Any]], None]:
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow(COLUMNS)

    def write(record: Mapping[str, Any]) -> None:
        rows.writerow([_csv_cell(record[name]) for name in COLUMNS])

    return write


def _csv_cell(value: object) -> object:
    """Clients choose some of these texts, and a spreadsheet takes one that begins so for a formula."""
    if not isinstance(value, str):
        return value
    return f"'{clean(value)}" if value[:1] in ("=", "+", "-", "@", "\t", "\r") else clean(value)


@contextmanager
def _open_output(file: Path | None) -> Iterator[TextIO]:
    """A file of its own, for this user alone, whole or not at all: a name that is taken is not overwritten."""
    if file is None:
        try:
            yield sys.stdout
            sys.stdout.flush()
        except BrokenPipeError:
            raise CommandExit(Exit.READER_LEFT) from None
        return
    try:
        made = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        fail(Exit.REFUSED, f"{file} is there already. Name a new file, or remove that one.")
    except OSError as error:
        fail(Exit.FAILED, f"{file} cannot be written: {error.strerror}. Choose another place: --to")
    done = False
    try:
        with os.fdopen(made, "w", encoding="utf-8", errors="backslashreplace", newline="") as out:
            yield out
        done = True
    except OSError as error:
        fail(Exit.FAILED, f"{file} could not be written: {error.strerror or error}. Nothing of it was kept.")
    finally:
        if not done:
            file.unlink(missing_ok=True)
