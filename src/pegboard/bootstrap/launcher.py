"""What the command line starts: an application in this process, or a client of a running gateway."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from functools import partial
from pathlib import Path
from threading import Event

from pegboard.surfaces.cli.api import ApiClient, DocSpaceCheck, Options, ProgressPrinter, ServerFilter
from pegboard.surfaces.cli.event_loop import run_to_end
from pegboard.surfaces.cli.log_setup import log_errors_briefly, log_warnings, log_while_serving
from pegboard.surfaces.cli.output import CommandExit, Exit, print_progress


class CommandLauncher:
    """What the command line asks of the composition root."""

    @asynccontextmanager
    async def api(self, options: Options, starts: ServerFilter, *, listens: bool = False) -> AsyncIterator[ApiClient]:
        from pegboard.surfaces.cli.client import running_gateway

        log_errors_briefly()
        async with running_gateway(options, starts) as running:
            if running is not None:
                yield running
                return
        # A client of a running gateway needs none of what composes one.
        from pegboard.bootstrap.application import open_application
        from pegboard.bootstrap.environment import load_settings
        from pegboard.bootstrap.serve import in_process_api, sign_in_pages
        from pegboard.surfaces.cli.startup_progress import print_until_settled

        async with (
            open_application(options, load_settings(options), starts, follow=False) as house,
            sign_in_pages(house, options.port) if listens else nullcontext(),
        ):
            await print_until_settled(
                house.gateway, print_progress, later="some servers have not answered; going on without"
            )
            async with in_process_api(house) as api:
                yield api

    def serve(self, options: Options, *, as_json: bool) -> int:
        from pegboard.bootstrap.serve import serve

        log_while_serving()
        listened = Event()
        try:
            return run_to_end(partial(serve, options, as_json, listened), fast=True)
        except CommandExit as ending:
            # A signal is how a gateway that listens ends: that is no failure.
            if ending.code > 128 and listened.is_set():
                return Exit.OK
            raise

    async def set_up_search(
        self, options: Options, watch: ProgressPrinter, wheel: Path | None, again: bool
    ) -> str | None:
        from pegboard.bootstrap.features import set_up_search

        return await set_up_search(options, watch, wheel, again)

    async def check_docspace(self, options: Options) -> DocSpaceCheck:
        from pegboard.bootstrap.providers import check_docspace

        return await check_docspace(options)

    def stdio(self, options: Options, presentation: str | None) -> int:
        log_warnings()
        return run_to_end(partial(serve_stdio_command, options, presentation), fast=True)


async def serve_stdio_command(options: Options, presentation: str | None) -> int:
    from pegboard.bootstrap.application import open_application
    from pegboard.bootstrap.environment import every_server, handle_key, load_settings
    from pegboard.bootstrap.providers import docspace_problem
    from pegboard.core.model.settings import PresentationMode
    from pegboard.surfaces.mcp.presentations.registry import presentation_of
    from pegboard.surfaces.mcp.stdio import serve_stdio

    async with open_application(
        options, load_settings(options, here=False), every_server, follow=True, by_requests=False
    ) as house:
        policy = house.gateway.board.policy
        if (wrong := docspace_problem(policy, house.settings)) is not None:
            # A client shows what it finds on standard error, and a list without tools explains nothing.
            print_progress(f"pegboard: {wrong}")
        declared = policy.declared.presentation.presentation
        key = partial(handle_key, os.environ, house.data_dir)
        present = partial(presentation_of, PresentationMode(presentation or declared), key=key)
        await serve_stdio(house.gateway, present=present, told=wrong)
    return Exit.OK
