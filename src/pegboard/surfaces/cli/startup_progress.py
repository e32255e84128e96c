"""Shows how servers start."""

from collections.abc import Awaitable, Callable
from typing import Final

import anyio
from anyio import to_thread

from pegboard.core.model.catalogue import (
    Health,
    ProviderAsleep,
    ProviderDown,
    ProviderNeedsSignIn,
    ProviderOff,
    ProviderStart,
    ProviderUp,
    is_first_start,
)
from pegboard.core.model.ids import BuiltinKey, SourceKey
from pegboard.gateway.board import BoardState
from pegboard.gateway.databases.lifecycle import DatabaseTools
from pegboard.gateway.doctor import PRESENTATION_FIX, presentation_warning
from pegboard.surfaces.cli.api import Printer

SLACK_S: Final = 5.0
"""Seconds beyond the longest deadline of a server: by then it has been told to be down."""
SLOW_S: Final = 3.0


async def report_while_running(
    board: BoardState, databases: DatabaseTools, told: Printer, ended: Callable[[], Awaitable[None]]
) -> None:
    """What a person sees of a gateway that listens, until it ends."""
    await print_until_settled(board, told, later="the others are tried again in the background")
    await _report_databases(databases, told)
    if (costly := await to_thread.run_sync(presentation_warning, board)) is not None:
        told(f"! {costly} {PRESENTATION_FIX}")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_print_continuously, board, told, name="lines about servers")
        await ended()
        tasks.cancel_scope.cancel()


async def _report_databases(databases: DatabaseTools, told: Printer) -> None:
    """Once, when the gateway starts: a database that cannot be asked is better known before somebody asks."""
    toolbox = databases.toolbox
    if toolbox is None or not toolbox.sources:
        return
    from pegboard.gateway.databases.source import run_database_checks

    for check in await run_database_checks([*toolbox.sources.values()]):
        id, schema = check.source.database.id, check.schema
        if schema is not None:
            tables = f"{len(schema.tables)} table{'' if len(schema.tables) == 1 else 's'}"
            told(f"  ● database {id}: {schema.dialect.title}, {tables}")
        else:
            told(f"  ○ database {id} cannot be asked: {check.problem}")
        for finding in check.findings:
            told(f"! database {id}: {finding.message}")


async def print_until_settled(board: BoardState, told: Printer, *, later: str) -> None:
    """Until every server has answered or failed once. `later` is told of those that have not done so in time."""
    starts = [server.timeouts.start for server in board.policy.servers.values()]
    heard: set[SourceKey] = set()
    with anyio.move_on_after(max(starts, default=0.0) + SLACK_S), board.changes.subscribe() as bell:
        while waiting := _print_news(board, heard, told):
            with anyio.move_on_after(SLOW_S) as slow:
                await bell.wait()
            if slow.cancelled_caught:
                told(f"  … waiting for {', '.join(waiting)}")
                await bell.wait()
        return
    told(f"  … {later}")


async def _print_continuously(board: BoardState, told: Printer) -> None:
    """A line for each server that comes, falls, or is up again."""
    known = {source: _health_text(listing.health) for source, listing in board.catalogue.listings.items()}
    with board.changes.subscribe() as bell:
        while True:
            await bell.wait()
            listings = board.catalogue.listings
            for source in [source for source in known if source not in listings]:
                del known[source]
            for source, listing in listings.items():
                state = _health_text(listing.health)
                if state is None or known.get(source) == state or isinstance(source, BuiltinKey):
                    continue
                known[source] = state
                if line := _health_line(str(source), listing.health, len(listing.tools)):
                    told(f"  {line}")


def _health_text(health: Health) -> str | None:
    """Of what a line is worth; `None` on the way to one. That a server sleeps until it is needed is no news."""
    match health:
        case ProviderUp() | ProviderAsleep():
            return "up"
        case ProviderDown():
            return "down"
        case ProviderNeedsSignIn():
            return "signed out"
        case ProviderOff():
            return "off"
        case ProviderStart():
            return None


def _print_news(board: BoardState, heard: set[SourceKey], told: Printer) -> list[str]:
    """Tells what is new; those that are still starting are what is left to wait for."""
    waiting: list[str] = []
    for source, listing in board.catalogue.listings.items():
        if source in heard or isinstance(source, BuiltinKey):
            continue
        if is_first_start(listing.health):
            waiting.append(str(source))
            continue
        heard.add(source)
        if line := _health_line(str(source), listing.health, len(listing.tools)):
            told(f"  {line}")
    return waiting


def _health_line(source: str, health: Health, tools: int) -> str:
    match health:
        case ProviderUp():
            return f"● {source}: {tools} tool{'' if tools == 1 else 's'}"
        case ProviderDown(_, why):
            return f"○ {source} is down: {why}"
        case ProviderStart(attempt):
            return f"○ {source} failed, and is started for the {attempt}. time"
        case ProviderNeedsSignIn():
            return f"○ {source} needs sign-in: pegboard servers sign-in {source}"
        case ProviderAsleep(_, why):
            return f"● {source}: {tools} tool{'' if tools == 1 else 's'}, asleep; {why}"
        case ProviderOff():
            return ""
