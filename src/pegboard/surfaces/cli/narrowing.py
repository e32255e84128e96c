"""The options that say which activity is meant, and times as people write them."""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import click

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


_OPTIONS: Final = (
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


def with_activity_filter(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def activity_filter_params(given: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(sent, str(given[name])) for name, sent in _PARAMETER_NAMES.items() if given.get(name) is not None]
