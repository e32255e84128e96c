"""`pegboard activity`."""

import csv
import json
import os
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, TextIO

import anyio
import click

from pegboard.surfaces.cli.api import ApiClient, Options
from pegboard.surfaces.cli.client import running_gateway
from pegboard.surfaces.cli.event_loop import run_to_end
from pegboard.surfaces.cli.options import (
    activity_filter_params,
    call_api,
    config_option,
    data_dir_option,
    gateway_command,
    json_option,
    launcher,
    no_server,
    with_activity_filter,
)
from pegboard.surfaces.cli.output import (
    CommandError,
    CommandExit,
    Exit,
    clean,
    clean_json,
    fail,
    one_line,
    print_json,
    print_progress,
    print_text,
    table,
)

# `pegboard activity export`: everything that fits, page by page: many records take no more memory than a page.

PAGE_SIZE: Final = 1000
COLUMNS: Final = (
    "id", "at", "kind", "principal", "client", "name", "subject", "outcome", "message", "policyVersion", "durationMs",
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


# One record of the activity as a person reads it: as a line of a table, and in full.

MARKS: Final[Mapping[str, str]] = {"returned": "●", "done": "●"}
"""What went as it was asked for; everything else is marked as not."""
RECORDS_COLUMNS: Final = ("ID", "WHEN", "KIND", "WHO", "WHAT", "OUTCOME", "TOOK", "TOKENS")


def record_row(record: Mapping[str, Any]) -> tuple[str, ...]:
    tokens = (record["argumentTokens"], record["resultTokens"])
    what = record["subject"] or record["name"] or ""
    # Of a call the outcome says enough; a decision is nothing without its words.
    if record["durationMs"] is None and record["message"]:
        what = f"{what} {record['message']}".strip()
    return (
        str(record["id"]),
        local_time(record["at"]),
        record["kind"],
        record["principal"],
        what,
        f"{MARKS.get(record['outcome'], '○')} {record['outcome']}",
        "" if record["durationMs"] is None else f"{record['durationMs']:,.1f} ms",
        "" if tokens == (None, None) else f"{tokens[0] or 0} + {tokens[1] or 0}",
    )


def record_text(record: Mapping[str, Any]) -> str:
    lines = [f"{record['id']}  {record['kind']}  {record['outcome']}"]
    for label, key, shown in _FIELDS:
        if record[key] not in (None, ""):
            lines.append(f"  {label + ':':<16}{shown(record[key])}")
    texts = [f"\n{label}, redacted:\n{record[label]}" for label in ("arguments", "result") if record[label] is not None]
    return "\n".join([*lines, *texts])


def local_time(at: str) -> str:
    return datetime.fromisoformat(at).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def _local_and_utc(at: str) -> str:
    moment = datetime.fromisoformat(at)
    return f"{moment.astimezone().isoformat(' ', 'milliseconds')} ({moment.astimezone(UTC):%H:%M:%S} UTC)"


_FIELDS: Final[tuple[tuple[str, str, Callable[[Any], str]], ...]] = (
    ("when", "at", _local_and_utc),
    ("who", "principal", one_line),
    ("client", "client", one_line),
    ("subject", "subject", one_line),
    ("called as", "name", one_line),
    ("shown by", "presentation", str),
    ("message", "message", one_line),
    ("policy version", "policyVersion", str),
    ("took", "durationMs", lambda took: f"{took:,.3f} ms"),
    ("arguments", "argumentBytes", lambda size: f"{size:,} bytes"),
    ("", "argumentTokens", lambda tokens: f"about {tokens:,} tokens"),
    ("result", "resultBytes", lambda size: f"{size:,} bytes"),
    ("", "resultTokens", lambda tokens: f"about {tokens:,} tokens"),
    ("call", "callId", str),
    ("within", "parentId", str),
)


FOLLOWING_PAGE_SIZE: Final = 500
WAIT_S: Final = 2.0
"""Seconds that one question waits in the gateway. What comes is told at once all the same."""
RECONNECT_INTERVAL_S: Final = 0.5


@click.command()
@with_activity_filter
@click.option("--after", type=click.IntRange(0), help="Begin after the record with this id, not with what comes now.")
@config_option
@data_dir_option
@json_option
def follow(after: int | None, config: Path | None, data_dir: Path | None, as_json: bool, **narrowing: Any) -> int:
    """What happens, as it happens, until Ctrl-C. With --json, one record a line."""
    options, narrow = Options(config, data_dir), activity_filter_params(narrowing)
    launch = launcher()

    async def inside() -> int:
        async with launch.api(options, no_server({})) as api:
            if not api.is_running:
                print_progress("No gateway is running here; this is what others write into the store.")
            store = (await call_api(api, "GET", "/status"))["store"]
            start = after if after is not None else (await call_api(api, "GET", "/activity/latest"))["latest"]
            reached = await _follow_until_lost(api, narrow, start, as_json=as_json)
        while True:
            async with _reconnect(options, store) as found:
                reached = await _follow_until_lost(found, narrow, reached, as_json=as_json)

    return run_to_end(inside)


async def _follow_until_lost(api: ApiClient, narrow: list[tuple[str, str]], after: int, *, as_json: bool) -> int:
    """Until a running gateway breaks off; the number to go on from."""
    trouble = ""
    while True:
        params = [*narrow, ("after", str(after)), ("limit", str(FOLLOWING_PAGE_SIZE)), ("wait", str(WAIT_S))]
        try:
            answer = await api.request("GET", "/activity/after", params=params)
        except CommandError:
            if not api.is_running:
                raise
            print_progress("! The gateway broke off. Waiting for it to come back …")
            return after
        told = str(answer.body.get("detail", answer.status))
        if answer.status >= 500:
            # The store may be away for a while; that too passes.
            if told != trouble:
                print_progress(f"! {told}")
            trouble = told
            await anyio.sleep(WAIT_S)
            continue
        if answer.status >= 400:
            fail(Exit.USAGE if answer.status == 422 else Exit.NOT_FOUND, told)
        trouble = ""
        for record in answer.body["activity"]:
            _print_record(record, as_json=as_json)
        after = answer.body["after"]


def _print_record(record: Mapping[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(record, indent=None)
        return
    print_text("  ".join(one_line(cell) for cell in record_row(record) if cell))


@asynccontextmanager
async def _reconnect(options: Options, store: str) -> AsyncIterator[ApiClient]:
    """The gateway of the same data directory, once it is back. One with another store counts its records anew."""
    while True:
        async with AsyncExitStack() as stack:
            try:
                api = await stack.enter_async_context(running_gateway(options, no_server({})))
                status = None if api is None else (await api.request("GET", "/status")).body
            except CommandError:
                api = status = None
            if api is not None and status is not None:
                if status.get("store") != store:
                    fail(Exit.FAILED, f"the gateway keeps its records at {status.get('store')} now, not at {store}.")
                print_progress("  … the gateway is back")
                yield api
                return
        await anyio.sleep(RECONNECT_INTERVAL_S)


# `pegboard activity …`: what happened, to look back at, to follow and to take away.


@click.group()
def activity() -> None:
    """Activity: every call, refusal and decision, with who, when and what came of it."""


activity.add_command(follow)
activity.add_command(export)


@activity.command("list")
@with_activity_filter
@click.option("--limit", default=30, show_default=True, type=click.IntRange(1, 1000), help="How many.")
@click.option(
    "--before", type=click.IntRange(0), help="Only what is older than the record with this id: the next page."
)
@gateway_command()
async def list_activity(api: ApiClient, limit: int, before: int | None, *, as_json: bool, **narrowing: Any) -> None:
    """What happened, the newest first."""
    body = await fetch_page(api, activity_filter_params(narrowing), limit, before)
    if as_json:
        print_json(body)
        return
    if not body["activity"]:
        print_text("Nothing is recorded that fits.")
        return
    print_text(table(RECORDS_COLUMNS, map(record_row, body["activity"])))
    if body["next"] is not None:
        print_text(f"\nOlder ones: the same with --before {body['next']}. One in full: pegboard activity show ID")


@activity.command("show")
@click.argument("record", type=click.IntRange(0), metavar="ID")
@gateway_command()
async def show(api: ApiClient, record: int, *, as_json: bool) -> None:
    """One record in full."""
    body = await call_api(api, "GET", f"/activity/{record}")
    print_json(body) if as_json else print_text(record_text(body))


async def fetch_page(
    api: ApiClient, narrowing: Sequence[tuple[str, str]], limit: int, before: int | None
) -> dict[str, Any]:
    """Asks on for as long as the gateway has more to look through: it does so a part at a time."""
    found: list[Any] = []
    while True:
        params = [*narrowing, ("limit", str(limit - len(found)))]
        params += [] if before is None else [("before", str(before))]
        body = await call_api(api, "GET", "/activity", params=params)
        found += body["activity"]
        before = body["next"]
        if before is None or len(found) >= limit:
            return {"activity": found, "next": before}
