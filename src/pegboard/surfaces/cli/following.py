"""`pegboard activity follow`: each record as it comes, once, also across an end and a new start of the gateway."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Final

import anyio
import click

from .client import running_gateway
from .link import Api, Options
from .narrowing import narrowed, with_narrowing
from .options import asked, config_option, data_dir_option, json_option, launcher, no_server
from .output import Ended, Exit, document, fail, say, tell
from .records import line
from .running import run_to_end
from .text import one_line

PAGE: Final = 500
WAIT: Final = 2.0
"""Seconds that one question waits in the gateway. What comes is told at once all the same."""
AGAIN: Final = 0.5


@click.command()
@with_narrowing
@click.option("--after", type=click.IntRange(0), help="Begin after the record with this id, not with what comes now.")
@config_option
@data_dir_option
@json_option
def follow(after: int | None, config: Path | None, data_dir: Path | None, as_json: bool, **narrowing: Any) -> int:
    """What happens, as it happens, until Ctrl-C. With --json, one record a line."""
    options, narrow = Options(config, data_dir), narrowed(narrowing)
    launch = launcher()

    async def inside() -> int:
        async with launch.api(options, no_server({})) as api:
            if not api.running:
                tell("No gateway is running here; this is what others write into the store.")
            store = (await asked(api, "GET", "/status"))["store"]
            start = after if after is not None else (await asked(api, "GET", "/activity/latest"))["latest"]
            reached = await _tell_on(api, narrow, start, as_json=as_json)
        while True:
            async with _again(options, store) as found:
                reached = await _tell_on(found, narrow, reached, as_json=as_json)

    return run_to_end(inside)


async def _tell_on(api: Api, narrow: list[tuple[str, str]], after: int, *, as_json: bool) -> int:
    """Until a running gateway breaks off; the number to go on from."""
    trouble = ""
    while True:
        params = [*narrow, ("after", str(after)), ("limit", str(PAGE)), ("wait", str(WAIT))]
        try:
            answer = await api.request("GET", "/activity/after", params=params)
        except Ended:
            if not api.running:
                raise
            tell("! The gateway broke off. Waiting for it to come back …")
            return after
        told = str(answer.body.get("detail", answer.status))
        if answer.status >= 500:
            # The store may be away for a while; that too passes.
            if told != trouble:
                tell(f"! {told}")
            trouble = told
            await anyio.sleep(WAIT)
            continue
        if answer.status >= 400:
            fail(Exit.USAGE if answer.status == 422 else Exit.NOT_FOUND, told)
        trouble = ""
        for record in answer.body["activity"]:
            _tell(record, as_json=as_json)
        after = answer.body["after"]


def _tell(record: Mapping[str, Any], *, as_json: bool) -> None:
    if as_json:
        document(record, indent=None)
        return
    say("  ".join(one_line(cell) for cell in line(record) if cell))


@asynccontextmanager
async def _again(options: Options, store: str) -> AsyncIterator[Api]:
    """The gateway of the same data directory, once it is back. One with another store counts its records anew."""
    while True:
        async with AsyncExitStack() as stack:
            try:
                api = await stack.enter_async_context(running_gateway(options, no_server({})))
                status = None if api is None else (await api.request("GET", "/status")).body
            except Ended:
                api = status = None
            if api is not None and status is not None:
                if status.get("store") != store:
                    fail(Exit.FAILED, f"the gateway keeps its records at {status.get('store')} now, not at {store}.")
                tell("  … the gateway is back")
                yield api
                return
        await anyio.sleep(AGAIN)
