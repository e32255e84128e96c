"""The options that many commands share."""

from collections.abc import Callable, Coroutine
from functools import wraps
from pathlib import Path
from typing import Any

import anyio
import click

from .link import Answer, Api, Launch, Options
from .output import Exit, fail, tell, unwrapped

config_option = click.option(
    "--config",
    type=click.Path(path_type=Path, dir_okay=False),
    envvar="PEGBOARD_CONFIG",
    help="The pegboard.yaml to use.  [default: ./pegboard.yaml, else the one in your configuration folder]",
)
data_dir_option = click.option(
    "--data-dir",
    type=click.Path(path_type=Path, file_okay=False),
    envvar="PEGBOARD_DATA_DIR",
    help="Where the store and the running gateway's address are kept.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
view_options = (
    click.option("--toolsets", help="Narrow to these toolsets, separated by commas."),
    click.option("--enabled-tools", help="Add these tools, separated by commas."),
    click.option("--disabled-tools", help="Take these tools away, separated by commas."),
    click.option("--as", "principal", default="local", show_default=True, help="Whose view."),
)


def with_view(command: Callable[..., None]) -> Callable[..., None]:
    for option in reversed(view_options):
        command = option(command)
    return command


def view_params(
    toolsets: str | None, enabled_tools: str | None, disabled_tools: str | None, principal: str
) -> list[tuple[str, str]]:
    params = [("as", principal)]
    for name, text in (("toolsets", toolsets), ("enabled_tools", enabled_tools), ("disabled_tools", disabled_tools)):
        if text is not None:
            names = [part.strip() for part in text.split(",") if part.strip()]
            params += [(name, part) for part in names] or ([(name, "")] if name == "toolsets" else [])
    return params


def asks(live: bool = False) -> Callable[[Callable[..., Coroutine[Any, Any, None]]], Callable[..., None]]:
    """Turns `async def command(api, …)` into a command that opens the way to the gateway and closes it again."""

    def decorate(command: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
        @config_option
        @data_dir_option
        @json_option
        @wraps(command)
        def run(*args: Any, config: Path | None, data_dir: Path | None, as_json: bool, **options: Any) -> None:
            launch = launcher()

            async def inside() -> None:
                async with launch.api(Options(config, data_dir), live=live, told=tell) as api:
                    await command(api, *args, as_json=as_json, **options)

            run_async(inside)

        return run

    return decorate


class _Launcher:
    """Carries the composition root's functions to the commands, by type."""

    def __init__(self, launch: Launch) -> None:
        self.launch = launch


def carried(launch: Launch) -> _Launcher:
    return _Launcher(launch)


def launcher() -> Launch:
    found = click.get_current_context().find_object(_Launcher)
    assert found is not None
    return found.launch


def run_async(inside: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Whatever a task group wrapped, the command's own ending is what is shown."""
    try:
        anyio.run(inside)
    except BaseExceptionGroup as group:
        raise unwrapped(group) from None


_TOLD = ("errors", "offered", "policyVersion")
_CODES = {404: Exit.NOT_FOUND, 409: Exit.REFUSED, 412: Exit.REFUSED, 400: Exit.NOT_FOUND, 401: Exit.UNREACHABLE}


async def asked(
    api: Api,
    method: str,
    path: str,
    *,
    params: list[tuple[str, str]] | None = None,
    body: dict[str, object] | None = None,
) -> dict[str, Any]:
    """The answer's body, or the end of the command with the answer's own sentence."""
    answer: Answer = await api.request(method, path, params=params or [], body=body)
    if answer.status >= 400:
        more: dict[str, Any] = {key: answer.body[key] for key in _TOLD if key in answer.body}
        code = Exit.CONFIG if path == "/diff" and answer.status == 422 else _CODES.get(answer.status, Exit.USAGE)
        fail(code if answer.status < 500 else Exit.FAILED, str(answer.body.get("detail", answer.body)), more)
    return answer.body
