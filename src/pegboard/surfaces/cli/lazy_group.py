"""A click group that lists its commands from a table and imports a command's module when that command is used."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType
from typing import Any

import click


@dataclass(frozen=True, slots=True)
class LazyCommand:
    target: str
    """`module:attribute`, the module relative to this package."""
    summary: str
    """One line for the list of commands, short enough not to be cut."""

    def load(self) -> click.Command:
        module, _, name = self.target.partition(":")
        command = getattr(import_module(f"{__package__}.{module}"), name)
        assert isinstance(command, click.Command)
        return command


class LazyGroup(click.Group):
    """Keeps the order of its table, in which a new user meets the commands; commands added in code come first."""

    def __init__(
        self,
        *args: Any,
        lazy: Mapping[str, LazyCommand],
        aliases: Mapping[str, str] = MappingProxyType({}),
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self._lazy = lazy
        self._aliases = aliases

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*self.commands, *self._lazy]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        name = self._aliases.get(cmd_name, cmd_name)
        return self._lazy[name].load() if name in self._lazy else super().get_command(ctx, name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        own = [(name, command.get_short_help_str(limit=60)) for name, command in self.commands.items()]
        with formatter.section("Commands"):
            formatter.write_dl([*own, *((name, lazy.summary) for name, lazy in self._lazy.items())])
