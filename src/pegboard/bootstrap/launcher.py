"""What the command line starts: an application in this process, or a client of a running gateway.

The one module of this package that knows the command line: errors become exit codes here, and values become output.
"""

import os
import shutil
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

from pegboard.surfaces.cli.api import (
    ApiClient,
    DocSpaceCheck,
    Options,
    ProgressPrinter,
    ProgressStep,
    ServerFilter,
)
from pegboard.surfaces.cli.event_loop import run_to_end
from pegboard.surfaces.cli.log_setup import log_errors_briefly, log_warnings, log_while_serving
from pegboard.surfaces.cli.output import CommandExit, Exit, fail, print_json, print_progress, unwrap_group

if TYPE_CHECKING:
    from pegboard.config.settings import Settings


class CommandLauncher:
    """What the command line asks of the composition root."""

    @asynccontextmanager
    async def api(self, options: Options, starts: ServerFilter, *, listens: bool = False) -> AsyncIterator[ApiClient]:
        from pegboard.surfaces.cli.client import in_process_client, running_gateway

        log_errors_briefly()
        async with running_gateway(options, starts) as running:
            if running is not None:
                yield running
                return
        # A client of a running gateway needs none of what composes one.
        from pegboard.bootstrap.application import open_application
        from pegboard.bootstrap.serve import in_process_api, sign_in_pages
        from pegboard.surfaces.cli.startup_progress import print_until_settled

        with exit_on_startup_error():
            async with (
                open_application(options.data_dir, load_settings(options), starts, follow=False) as house,
                sign_in_pages(house, options.port) if listens else nullcontext(),
            ):
                later = "some servers have not answered; going on without"
                await print_until_settled(house.gateway.board, print_progress, later=later)
                async with in_process_client(*in_process_api(house)) as api:
                    yield api

    def serve(self, options: Options, *, as_json: bool) -> int:
        log_while_serving()
        listened = Event()
        try:
            return run_to_end(partial(_serve, options, as_json, listened), fast=True)
        except CommandExit as ending:
            # A signal is how a gateway that listens ends: that is no failure.
            if ending.code > 128 and listened.is_set():
                return Exit.OK
            raise

    async def set_up_search(
        self, options: Options, watch: ProgressPrinter, wheel: Path | None, again: bool
    ) -> str | None:
        from pegboard.bootstrap.environment import ensure_data_directory
        from pegboard.bootstrap.features import set_up_search

        with exit_on_startup_error():
            made = await set_up_search(
                ensure_data_directory(options.data_dir),
                lambda step: watch(ProgressStep(step.message, step.done_bytes, step.total_bytes)),
                wheel,
                again,
            )
        return None if made is None else str(made)

    async def check_docspace(self, options: Options) -> DocSpaceCheck:
        from pegboard.bootstrap.providers import check_docspace

        with exit_on_startup_error():
            found = await check_docspace(load_settings(options))
        if found is None:
            return DocSpaceCheck()
        base_url, user = found
        return DocSpaceCheck(base_url, user.name, user.email, user.role, user.visibility)

    def stdio(self, options: Options, presentation: str | None) -> int:
        log_warnings()
        return run_to_end(partial(serve_stdio_command, options, presentation), fast=True)


@contextmanager
def exit_on_startup_error() -> Iterator[None]:
    """What the root raises ends the command, with the exit code that docs/reference/cli.md promises."""
    from pegboard.bootstrap import errors

    try:
        yield
    except (errors.StartupError, BaseExceptionGroup) as raised:
        wrapped = raised.subgroup(errors.StartupError) if isinstance(raised, BaseExceptionGroup) else raised
        if wrapped is None:
            raise
        error = unwrap_group(wrapped) if isinstance(wrapped, BaseExceptionGroup) else wrapped
        assert isinstance(error, errors.StartupError)
        match error:
            case errors.ConfigurationError():
                code = Exit.CONFIG
            case errors.StartRefusedError():
                code = Exit.REFUSED
            case errors.ServiceNotFoundError():
                code = Exit.NOT_FOUND
            case errors.ServiceUnavailableError():
                code = Exit.UNREACHABLE
            case _:
                code = Exit.FAILED
        fail(code, error.message, error.details)


def load_settings(options: Options, *, here: bool = True) -> "Settings | None":
    """As `environment.load_settings`; says so where the file is used because it lies where the command was typed."""
    from pegboard.bootstrap import environment
    from pegboard.config import paths

    settings = environment.load_settings(options.config, here=here)
    if here and settings and paths.is_from_working_directory(Path(settings.file), options.config, os.environ):
        print_progress(f"  … with {settings.file}, the one of this folder")
    return settings


async def _serve(options: Options, as_json: bool, listened: Event) -> int:
    from pegboard.bootstrap.serve import open_listening_gateway
    from pegboard.surfaces.cli.snippets import announcement
    from pegboard.surfaces.cli.startup_progress import report_while_running

    with exit_on_startup_error():
        async with open_listening_gateway(
            options.data_dir, load_settings(options), options.host, options.port, is_open=options.is_open
        ) as listening:
            listened.set()
            house = listening.application
            config, data_dir = house.config_file, str(house.data_dir)
            if as_json:
                told = {"endpoint": listening.endpoint, "ui": listening.ui, "config": config, "dataDir": data_dir}
                print_json(told, indent=None)
            else:
                program = shutil.which("pegboard") or str(Path(sys.executable).with_name("pegboard"))
                board = {"chats": listening.has_chat, "docspace": listening.has_docspace}
                print_progress(announcement(listening.endpoint, listening.login, program, config, data_dir, **board))
            for warning in listening.warnings():
                print_progress(f"! {warning}")
            await report_while_running(
                house.gateway.board, house.gateway.databases, print_progress, listening.wait_until_finished
            )
    return Exit.OK


async def serve_stdio_command(options: Options, presentation: str | None) -> int:
    from pegboard.bootstrap.application import open_application
    from pegboard.bootstrap.environment import every_server, handle_key
    from pegboard.bootstrap.providers import docspace_problem
    from pegboard.core.model.settings import PresentationMode
    from pegboard.surfaces.mcp.presentations.registry import presentation_of
    from pegboard.surfaces.mcp.stdio import serve_stdio

    with exit_on_startup_error():
        settings = load_settings(options, here=False)
        async with open_application(options.data_dir, settings, every_server, follow=True, by_requests=False) as house:
            policy = house.gateway.board.policy
            if (wrong := docspace_problem(policy, settings)) is not None:
                # A client shows what it finds on standard error, and a list without tools explains nothing.
                print_progress(f"pegboard: {wrong}")
            declared = policy.declared.presentation.presentation
            key = partial(handle_key, os.environ, house.data_dir)
            present = partial(presentation_of, PresentationMode(presentation or declared), key=key)
            await serve_stdio(house.gateway, present=present, told=wrong)
    return Exit.OK
