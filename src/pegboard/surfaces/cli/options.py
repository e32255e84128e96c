"""The options that many commands share, and the way from a command to the gateway."""

from collections.abc import Callable, Coroutine, Mapping
from contextlib import nullcontext
from functools import wraps
from pathlib import Path
from typing import Any, Final, NoReturn, TypeAlias, cast
from urllib.parse import quote

import click

from pegboard.core.ids import ID_RULE, BadId, is_id, parse_server_key

from .link import ApiClient, ApiResponse, CompositionRoot, Options, ServerFilter
from .output import Exit, fail, print_progress
from .running import run_to_end
from .text import indent_continuation, is_unicode
from .waiting import print_when_slow

GivenOptions: TypeAlias = Mapping[str, Any]
AsyncCommand: TypeAlias = Callable[..., Coroutine[Any, Any, int | None]]

config_option = click.option(
    "--config",
    type=click.Path(path_type=Path),
    envvar="PEGBOARD_CONFIG",
    help="The pegboard.yaml to use.  [default: ./pegboard.yaml, else the one in your configuration folder]",
)
data_dir_option = click.option(
    "--data-dir",
    type=click.Path(path_type=Path, file_okay=False),
    envvar="PEGBOARD_DATA_DIR",
    help="Where the store and the running gateway's address are kept.  [default: your data folder]",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
view_options = (
    click.option("--toolsets", help="Narrow to these toolsets, separated by commas; '' for none."),
    click.option("--enabled-tools", help="Add these tools, separated by commas."),
    click.option("--disabled-tools", help="Take these tools away, separated by commas."),
    click.option("--as", "principal", default="local", show_default=True, help="Whose view."),
)


def with_view(command: Callable[..., Any]) -> Callable[..., Any]:
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


def no_server(given: GivenOptions) -> ServerFilter:
    return lambda key, id: False


def every_server(given: GivenOptions) -> ServerFilter:
    return lambda key, id: True


def named_server(given: GivenOptions) -> ServerFilter:
    return lambda key, id: given["server"] in (key, id)


def gateway_command(
    starts: Callable[[GivenOptions], ServerFilter] = no_server, *, listens: bool = False
) -> Callable[[AsyncCommand], Callable[..., int]]:
    """Turns `async def command(api, …)` into one that opens the way to the gateway and closes it again.

    When no gateway runs, `starts` tells which servers it needs, and `listens` that a browser comes back to it.
    """

    def decorate(command: AsyncCommand) -> Callable[..., int]:
        @config_option
        @data_dir_option
        @json_option
        @wraps(command)
        def run(*, config: Path | None, data_dir: Path | None, as_json: bool, **given: Any) -> int:
            _check_texts(given)
            launch = launcher()
            above = click.get_current_context().parent
            about_a_board = above is not None and above.info_name in _BOARD_GROUPS

            async def inside() -> int:
                async with launch.api(Options(config, data_dir), starts(given), listens=listens) as api:
                    await _print_notices(api, of_board=about_a_board)
                    return await command(api, as_json=as_json, **given) or Exit.OK

            return run_to_end(inside)

        return run

    return decorate


_BOARD_GROUPS: Final = frozenset({"activity", "approvals", "grants", "overrides", "tickets", "tokens", "tools"})
"""Groups whose answers are those of one board: that nothing waits on it means nothing of another."""


async def _print_notices(api: ApiClient, *, of_board: bool) -> None:
    """Whatever is asked: an answer from a board that is not what its file says, or that no gateway serves, must say
    so."""
    status = await call_api(api, "GET", "/status")
    if of_board and not api.is_running:
        print_progress(no_gateway_notice(status))
    for notice in status["notices"]:
        # Without a gateway the board is in this process, whose log has told of an unreadable row already.
        if api.is_running or not _is_unreadable_row(notice["subject"]):
            print_progress(f"! {indent_continuation(notice['text'])}")


def _is_unreadable_row(subject: str) -> bool:
    # A client of a running gateway does without the rules of the board, which this loads.
    from pegboard.core.unreadable import UNREADABLE_ROW

    return subject.startswith(UNREADABLE_ROW)


def no_gateway_notice(status: Mapping[str, Any]) -> str:
    empty = "" if status["policyVersion"] else ", and nothing was ever decided there"
    return (
        f"  … no gateway runs on {status['dataDir']}{empty}. "
        "If you mean another board, name its directory: --data-dir, or PEGBOARD_DATA_DIR"
    )


def launcher() -> CompositionRoot:
    make = cast("Callable[[], CompositionRoot]", click.get_current_context().obj)
    return make()


_DETAIL_KEYS: Final = ("errors", "offered", "policyVersion")
_EXIT_CODES: Final = {
    400: Exit.NOT_FOUND,
    401: Exit.UNREACHABLE,
    404: Exit.NOT_FOUND,
    409: Exit.REFUSED,
    412: Exit.REFUSED,
    422: Exit.USAGE,
    503: Exit.UNREACHABLE,
}


async def call_api(
    api: ApiClient,
    method: str,
    path: str,
    *,
    params: list[tuple[str, str]] | None = None,
    body: Mapping[str, object] | None = None,
    waiting: str | None = "the gateway",
    misfit: Exit = Exit.USAGE,
) -> dict[str, Any]:
    """The answer's body, or the end of the command with the answer's own sentence.

    `waiting` is what a person is told to be waited for, unless they are told otherwise; `misfit` is the exit code when
    the body was refused.
    """
    with nullcontext() if waiting is None else print_when_slow(waiting):
        answer: ApiResponse = await api.request(method, path, params=params or [], body=body)
    if answer.status >= 400:
        fail_with_response(answer, misfit)
    return answer.body


def fail_with_response(answer: ApiResponse, misfit: Exit = Exit.USAGE) -> NoReturn:
    more: dict[str, object] = {key: answer.body[key] for key in _DETAIL_KEYS if key in answer.body}
    code = misfit if answer.status == 422 else _EXIT_CODES.get(answer.status, Exit.FAILED)
    fail(code, str(answer.body.get("detail", answer.body)), more)


def _check_texts(given: GivenOptions) -> None:
    for name, value in given.items():
        texts = (*value, *value.values()) if isinstance(value, dict) else value
        for text in texts if isinstance(texts, tuple) else (texts,):
            if isinstance(text, str) and not is_unicode(text):
                raise click.BadParameter("this is not UTF-8 text", param_hint=name.upper().replace("_", "-"))


def server_path(name: str) -> str:
    """The name as a part of an address. What cannot be a server's name is no address either."""
    if not is_id(name) and isinstance(parse_server_key(name), BadId):
        rule = f"an id has {ID_RULE}; a key is TOOLSET~SERVER"
        fail(Exit.NOT_FOUND, f"There is no server {name!r}: {rule}. See: pegboard servers list")
    return quote(name, safe="~")


def toolset_path(name: str) -> str:
    """The same of a toolset."""
    if not is_id(name):
        fail(Exit.NOT_FOUND, f"There is no toolset {name!r}: an id has {ID_RULE}. See: pegboard toolset list")
    return name
