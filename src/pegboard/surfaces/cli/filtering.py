"""The flags of a launch filter, shared by the commands that speak with models."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import click

from pegboard.core.launch import LAUNCH_KINDS, LAUNCH_MEMBERS

_FILTER_HELP: Final = {
    "builtins": "built-ins, by patterns of their names",
    "servers": "tools of these servers or toolsets, by patterns",
    "tools": "tools, by patterns scope:name",
}


def with_filter(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the flags to a command, which gets them as its keywords `allow_builtins`, `deny_builtins` and so on."""
    for kind in reversed(LAUNCH_KINDS):
        what = _FILTER_HELP[kind]
        command = click.option(f"--deny-{kind}", help=f"No {what}, separated by commas.")(command)
        command = click.option(f"--allow-{kind}", help=f"Only {what}, separated by commas; '' for none.")(command)
    return command


def filter_body(given: Mapping[str, str | None]) -> dict[str, list[str]]:
    """As a chat takes them."""
    texts = {name: text for name in LAUNCH_MEMBERS if (text := given[name]) is not None}
    return {name: [part.strip() for part in text.split(",") if part.strip()] for name, text in texts.items()}


def filter_params(given: Mapping[str, str | None]) -> list[tuple[str, str]]:
    """As the API takes them. A list that is given and empty is sent as one empty text."""
    return [(name, each) for name, patterns in filter_body(given).items() for each in patterns or [""]]
