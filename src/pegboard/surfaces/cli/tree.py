"""The command tree. A command's module is loaded when the command is used: most need much that `version` does not."""

from collections.abc import Callable, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Final

import click

from pegboard import __version__

from .link import Launch

COMMANDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "serve": "run:serve",
        "stdio": "run:stdio",
        "ui": "ui:ui",
        "servers": "servers:servers",
        "toolset": "toolset:toolset",
        "tools": "deciding:tools",
        "run": "programs:run",
        "stubs": "programs:stubs",
        "search": "meaning:search",
        "prompt": "prompt:prompt",
        "docspace": "docspace:docspace",
        "db": "db:db",
        "chat": "chat:chat",
        "tickets": "tickets:tickets",
        "approvals": "approvals:approvals",
        "overrides": "overrides:overrides",
        "why": "why:why",
        "activity": "activity:activity",
        "tokens": "tokens:tokens",
        "grants": "grants:grants",
        "import": "imports:import_servers",
        "settings": "settings:settings",
        "doctor": "doctor:doctor",
        "diff": "diff:diff",
        "policy": "policy:policy",
        "version": "version:version",
    }
)

ALIASES: Final[Mapping[str, str]] = MappingProxyType({"toolsets": "toolset"})
"""Names that commands had, or that people type for them. They work, and are not listed."""


class Tree(click.Group):
    """Lists its commands in the order in which a new user meets them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if (target := COMMANDS.get(ALIASES.get(cmd_name, cmd_name))) is None:
            return None
        module, _, name = target.partition(":")
        command = getattr(import_module(f"{__package__}.{module}"), name)
        assert isinstance(command, click.Command)
        return command


def command_tree(launch: Callable[[], Launch]) -> click.Group:
    """`launch` makes the composition root; it is called by the commands that need one."""

    @click.command(
        cls=Tree,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )
    @click.version_option(__version__, prog_name="pegboard", message="%(prog)s %(version)s")
    @click.pass_context
    def pegboard(context: click.Context) -> None:
        """One wall for the tools of AI models.

        Every command takes --json (but stdio) and ends with 0 when all is well, 1 when something failed or was found,
        2 for a wrong command line, 3 for a broken configuration, 4 for what does not exist, 5 for what is refused and
        6 for what cannot be reached.
        """
        context.obj = launch

    return pegboard
