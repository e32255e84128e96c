"""Options that many commands share."""

import json
import re
import sys
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import wraps
from pathlib import Path
from typing import Any, Final, NoReturn, TypeAlias, cast
from urllib.parse import quote

import click

from pegboard.core.model.ids import ID_RULE, LOCAL_PRINCIPAL, BadId, is_id, parse_server_key
from pegboard.core.model.patterns import LAUNCH_KINDS, LAUNCH_MEMBERS
from pegboard.surfaces.cli.api import ApiClient, ApiResponse, CompositionRoot, Options, ServerFilter
from pegboard.surfaces.cli.event_loop import run_to_end
from pegboard.surfaces.cli.output import Exit, fail, indent_continuation, is_unicode, print_progress, print_when_slow

GivenOptions: TypeAlias = Mapping[str, Any]
AsyncCommand: TypeAlias = Callable[..., Coroutine[Any, Any, int | None]]
OptionDecorator: TypeAlias = Callable[[Callable[..., Any]], Callable[..., Any]]

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


@dataclass(frozen=True)
class ViewOptions:
    """How narrowly a command looks at the board, and for whom."""

    principal: str
    narrowing: Mapping[str, str]
    """The options that were given, by the names that the API has for them; each lists names."""

    def params(self) -> list[tuple[str, str]]:
        """As a query: none of the toolsets is one empty name."""
        lists = self._lists().items()
        return [("as", self.principal), *((name, each) for name, names in lists for each in names or [""])]

    def body(self) -> dict[str, object]:
        return {"as": self.principal, **self._lists()}

    def words(self) -> list[str]:
        """As they would be typed again."""
        said = dict(self.narrowing) | ({"as": self.principal} if self.principal != LOCAL_PRINCIPAL else {})
        return [word for name, text in said.items() for word in (f"--{name.replace('_', '-')}", text)]

    def _lists(self) -> dict[str, list[str]]:
        lists = {name: split_names(text) for name, text in self.narrowing.items()}
        return {name: names for name, names in lists.items() if names or name == "toolsets"}


_NARROWING: Final = ("toolsets", "enabled_tools", "disabled_tools")


def _pack_view(given: GivenOptions) -> dict[str, Any]:
    """The options of `with_view` as one `view`, where a command has them."""
    if not {"principal", *_NARROWING} <= given.keys():
        return {**given}
    rest = {name: value for name, value in given.items() if name not in ("principal", *_NARROWING)}
    narrowing = {name: given[name] for name in _NARROWING if given[name] is not None}
    return {**rest, "view": ViewOptions(given["principal"], narrowing)}


def _with_options(*options: OptionDecorator) -> OptionDecorator:
    """Adds several options to a command, which are listed in this order."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


with_view = _with_options(
    click.option("--toolsets", help="Narrow to these toolsets, separated by commas; '' for none."),
    click.option("--enabled-tools", help="Add these tools, separated by commas."),
    click.option("--disabled-tools", help="Take these tools away, separated by commas."),
    click.option("--as", "principal", default="local", show_default=True, help="Whose view."),
)
"""Gives a command its `view`, as `ViewOptions`."""


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
            given = _pack_view(given)
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
            print_progress(f"! {indent_continuation(notice['message'])}")


def _is_unreadable_row(subject: str) -> bool:
    # A client of a running gateway does without the rules of the board, which this loads.
    from pegboard.core.policy.unreadable_rows import UNREADABLE_ROW

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


_DETAIL_KEYS: Final = ("errors", "available", "policyVersion")
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


async def fetch_pages(api: ApiClient, path: str, member: str, params: Sequence[tuple[str, str]] = ()) -> dict[str, Any]:
    """The last page's answer, with what `member` lists on all pages."""
    found: list[Any] = []
    after: list[tuple[str, str]] = []
    while True:
        body = await call_api(api, "GET", path, params=[*params, *after])
        found += body[member]
        if body["next"] is None:
            return {**body, member: found}
        after = [("after", body["next"])]


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


# NAME=VALUE on a command line, and the JSON of a call's arguments: read before anything is started for a command.


def parse_pairs(context: click.Context, option: click.Parameter, texts: tuple[str, ...]) -> dict[str, str]:
    """What is wrong is told by its place alone: the text may be a secret."""
    found: dict[str, str] = {}
    for place, text in enumerate(texts, start=1):
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise click.BadParameter(f"number {place} is not NAME=VALUE", context, option)
        if name in found:
            raise click.BadParameter(f"{name!r} is given twice", context, option)
        found[name] = value
    return found


def parse_names(context: click.Context, option: click.Parameter, text: str | None) -> list[str] | None:
    """A list with commas; empty for none of them, and None where nothing was said."""
    return None if text is None else split_names(text)


def split_names(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def parse_json_pairs(context: click.Context, option: click.Parameter, texts: tuple[str, ...]) -> dict[str, Any]:
    """Each value as JSON where it is JSON, else as text."""
    return {name: _parse_value(text) for name, text in parse_pairs(context, option, texts).items()}


def parse_json_object(context: click.Context, argument: click.Parameter, text: str | None) -> dict[str, Any]:
    """A JSON object, from standard input for `-`."""

    def no(why: str) -> NoReturn:
        raise click.BadParameter(why, context, argument)

    is_call = isinstance(argument, click.Argument)
    if text is None:
        return {}
    if text == "-":
        try:
            text = sys.stdin.buffer.read().decode("utf-8-sig")
        except UnicodeDecodeError as error:
            no(f"standard input is not UTF-8 text, from byte {error.start} on")
    try:
        given = json.loads(text, parse_constant=_reject_constant)
    except ValueError as error:
        other = ", or use --arg name=1" if is_call else ""
        no(f"this is not JSON: {error}. Write an object, like '{{\"name\": 1}}'{other}")
    except RecursionError:
        no("this is nested too deeply")
    if not isinstance(given, dict):
        what = "the arguments" if is_call else "this"
        no(f"{what} must be a JSON object, like '{{\"name\": 1}}'")
    return given


def parse_optional_json_object(
    context: click.Context, option: click.Parameter, text: str | None
) -> dict[str, Any] | None:
    """A JSON object; `None` where the option is not given, because `{}` is a value."""
    return None if text is None else parse_json_object(context, option, text)


def _parse_value(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_reject_constant)
    except (ValueError, RecursionError):
        return text


def _reject_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON value")


# The flags of a launch filter, shared by the commands that speak with models.

_FILTER_HELP: Final = {
    "builtins": "built-ins, by patterns of their names",
    "servers": "tools of these servers or toolsets, by patterns",
    "tools": "tools, by patterns scope:name",
}


with_filter = _with_options(
    *(
        click.option(f"--{verb}-{kind}", help=text)
        for kind in LAUNCH_KINDS
        for verb, text in (
            ("allow", f"Only {_FILTER_HELP[kind]}, separated by commas; '' for none."),
            ("deny", f"No {_FILTER_HELP[kind]}, separated by commas."),
        )
    )
)
"""Gives a command `allow_builtins`, `deny_builtins` and so on."""


def filter_body(given: Mapping[str, str | None]) -> dict[str, list[str]]:
    """As a chat takes them."""
    texts = {name: text for name in LAUNCH_MEMBERS if (text := given[name]) is not None}
    return {name: split_names(text) for name, text in texts.items()}


def filter_params(given: Mapping[str, str | None]) -> list[tuple[str, str]]:
    """As the API takes them. A list that is given and empty is sent as one empty text."""
    return [(name, each) for name, patterns in filter_body(given).items() for each in patterns or [""]]


# The options that say which activity is meant, and times as people write them.

_AGO_PATTERN: Final = re.compile(r"(\d{1,6})\s?([smhdw])")
_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_EXAMPLES: Final = "Write 15m, 2h or 7d ago, or a time: 2026-07-28, '2026-07-28 14:30', 2026-07-28T14:30:00Z."


class TimeParam(click.ParamType[str]):
    """A time, or how long ago. Without a zone it is the time of this machine."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        text = str(value).strip()
        if (ago := _AGO_PATTERN.fullmatch(text)) is not None:
            try:
                return (datetime.now(UTC) - timedelta(**{_UNITS[ago[2]]: int(ago[1])})).isoformat()
            except OverflowError:
                self.fail(f"{text!r} is too long ago.", param, ctx)
        try:
            return datetime.fromisoformat(text).astimezone(UTC).isoformat()
        except (ValueError, OverflowError):
            self.fail(f"{text!r} is not a time. {_EXAMPLES}", param, ctx)


with_activity_filter = _with_options(
    click.option("--tool", help="Of this tool: its id, or the name that clients call it by."),
    click.option("--server", help="Of this server and its tools: its id or key."),
    click.option("--principal", help="By this caller or person."),
    click.option("--client", help="By this client program."),
    click.option("--kind", help="Of this kind: call, refusal, decision, switch, approval, config, …"),
    click.option("--outcome", help="That ended so: returned, tool_failed, cancelled, pending_approval, …"),
    click.option("--since", type=TimeParam(), help="From this time on: 15m, 2h, 7d, or 2026-07-28T14:30."),
    click.option("--until", type=TimeParam(), help="Before this time."),
    click.option("--slower-than", type=click.FloatRange(0), help="Calls that took longer: milliseconds."),
    click.option("--q", help="With this text in the name, the id, what is said, the caller or the client."),
)
_PARAMETER_NAMES: Final = {
    **{name: name for name in ("tool", "server", "principal", "client", "kind", "outcome", "since", "until", "q")},
    "slower_than": "slowerThan",
}


def activity_filter_params(given: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(sent, str(given[name])) for name, sent in _PARAMETER_NAMES.items() if given.get(name) is not None]


# The filters of the wall on a command line: by words, by state, by provider, and by what a tool claims.

STATES: Final = ("open", "locked", "needs_action", "broken", "missing")
HINTS: Final = ("readOnly", "destructive", "idempotent", "openWorld")


def _list_of(known: Sequence[str]) -> Callable[..., list[str] | None]:
    def parse_list(context: click.Context, option: click.Parameter, text: str | None) -> list[str] | None:
        for each in (found := parse_names(context, option, text)) or ():
            if each not in known:
                raise click.BadParameter(f"{each!r} is none of {', '.join(known)}", context, option)
        return found

    return parse_list


with_board_filter = _with_options(
    click.option("--q", "words", default="", help="Only those with each of these words in their names, ids or titles."),
    click.option("--state", callback=_list_of(STATES), help=f"Only in these states, by commas: {', '.join(STATES)}."),
    click.option(
        "--provider", callback=parse_names, help="Only of these kinds of provider, by commas: mcp, builtin, …"
    ),
    click.option("--server", callback=parse_names, help="Only of these servers, by commas."),
    click.option("--hint", callback=_list_of(HINTS), help=f"Only those that claim all of these: {', '.join(HINTS)}."),
)
"""Gives a command `words`, `state`, `provider`, `server` and `hint`."""


def has_board_filter(given: Mapping[str, Any]) -> bool:
    return any(value not in ("", None) for value in given.values())


async def fetch_cards(
    api: ApiClient, params: list[tuple[str, str]], given: Mapping[str, Any]
) -> dict[str, dict[str, Any]]:
    """The pegs of the wall that pass, by their ids. Those that are no longer offered hang there too."""
    body = await fetch_pages(api, "/board", "tools", params)
    titles = {toolset["id"]: toolset["title"] for toolset in body["toolsets"]}
    return {peg["id"]: peg for peg in body["tools"] if _matches(peg, titles.get(peg["toolsetId"], ""), given)}


def _matches(peg: Mapping[str, Any], toolset: str, given: Mapping[str, Any]) -> bool:
    text = " ".join((peg["name"], peg["title"] or "", peg["wireName"] or "", peg["id"], toolset)).lower()
    server, source = peg["serverId"], f"{peg['toolsetId']}~{peg['serverId']}"
    return (
        all(word in text for word in given["words"].lower().split())
        and (given["state"] is None or peg["state"] in given["state"])
        and (given["provider"] is None or peg["provider"] in given["provider"])
        and (given["server"] is None or server in given["server"] or source in given["server"])
        and all(peg["hints"][hint] for hint in given["hint"] or ())
    )
