"""`pegboard activity follow`: each record as it comes, once, also across an end and a new start of the gateway."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Final

import anyio
import click

from .client import running_gateway
from .link import ApiClient, Options
from .narrowing import activity_filter_params, with_activity_filter
from .options import call_api, config_option, data_dir_option, json_option, launcher, no_server
from .output import CommandError, Exit, fail, print_json, print_progress, print_text
from .records import record_row
from .running import run_to_end
from .text import one_line

PAGE_SIZE: Final = 500
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
        params = [*narrow, ("after", str(after)), ("limit", str(PAGE_SIZE)), ("wait", str(WAIT_S))]
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
