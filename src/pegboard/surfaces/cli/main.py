"""The command tree. A command's module is imported when the command runs."""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType
from typing import Any, Final

import click

from pegboard import __version__
from pegboard.surfaces.cli.api import CompositionRoot
from pegboard.surfaces.cli.output import CommandError, CommandExit, Exit, print_json, print_progress, print_text

# The program around the commands: every ending becomes one exit code and one message, in words or as JSON.


def run(tree: click.Command, args: Sequence[str]) -> int:
    """The exit code. No traceback is shown for what a user, a server or the system can cause."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError):
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # a test's stream may lack it
    try:
        code = _run_command(tree, list(args))
        sys.stdout.flush()
    except CommandExit as ending:
        code = ending.code
    except BrokenPipeError:
        code = Exit.READER_LEFT
    if code == Exit.READER_LEFT:
        _detach_stdout()
    return int(code)


def _run_command(tree: click.Command, args: list[str]) -> int:
    try:
        ended = tree.main(args, prog_name="pegboard", standalone_mode=False)
    except CommandError as end:
        return _report_end(args, end.code, end.message, {**end.details})
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return Exit.USAGE
    except click.UsageError as error:
        if wants_json(args):
            return _report_end(args, Exit.USAGE, error.format_message(), {})
        error.show()
        return Exit.USAGE
    except click.ClickException as error:
        return _report_end(args, Exit.FAILED, error.format_message(), {})
    except (click.Abort, KeyboardInterrupt):
        return Exit.INTERRUPTED
    return ended if isinstance(ended, int) else Exit.OK


def _report_end(args: Sequence[str], code: int, message: str, more: dict[str, object]) -> int:
    if wants_json(args):
        print_json({"error": message, "exit": int(code), **more}, indent=None)
    else:
        print_progress(f"pegboard: {message}")
    return code


def wants_json(args: Sequence[str]) -> bool:
    """What stands after `--` belongs to somebody else. `stdio` has nothing but its protocol on standard output."""
    own = list(args)[: list(args).index("--")] if "--" in args else list(args)
    return "--json" in own and own[:1] != ["stdio"]


def _detach_stdout() -> None:
    """Or Python would try once more to write what nobody reads, and complain."""
    with suppress(OSError, ValueError):
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, sys.stdout.fileno())


# `pegboard version`.


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def version(as_json: bool) -> None:
    """The version of Pegboard."""
    print_json({"version": __version__}) if as_json else print_text(f"pegboard {__version__}")


# A click group that lists its commands from a table and imports a command's module when that command is used.


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


COMMANDS: Final[Mapping[str, LazyCommand]] = MappingProxyType(
    {
        "serve": LazyCommand("serve:serve", "Run the gateway: MCP over HTTP, REST API and web UI."),
        "stdio": LazyCommand("serve:stdio", "Run the gateway as a stdio server for one client."),
        "ui": LazyCommand("access:ui", "Print an address that opens the web UI."),
        "servers": LazyCommand("servers:servers", "List, add and operate MCP servers."),
        "toolset": LazyCommand("toolsets:toolset", "Import, check and export toolsets."),
        "tools": LazyCommand("tools:tools", "List, show, search, call and approve tools."),
        "run": LazyCommand("programs:run", "Run a Python program that calls tools."),
        "stubs": LazyCommand("programs:stubs", "Print tools as typed Python functions."),
        "search": LazyCommand("search:search", "Set up and evaluate semantic search."),
        "prompt": LazyCommand("chat:prompt", "Show what a model would receive for a query."),
        "docspace": LazyCommand("doctor:docspace", "Check the connection to an ONLYOFFICE DocSpace."),
        "db": LazyCommand("databases:db", "Check and query databases."),
        "chat": LazyCommand("chat:chat", "Talk with a model that uses the tools."),
        "tickets": LazyCommand("tickets:tickets", "Decide about calls that wait for confirmation."),
        "approvals": LazyCommand("approvals:approvals", "Review new and changed tools."),
        "overrides": LazyCommand("overrides:overrides", "Change how tools look and behave."),
        "why": LazyCommand("tools:why", "Explain why a tool is there or not."),
        "activity": LazyCommand("activity:activity", "Show calls, refusals and decisions."),
        "tokens": LazyCommand("access:tokens", "Create, list and revoke API tokens."),
        "grants": LazyCommand("access:grants", "Limit which toolsets a caller may use."),
        "import": LazyCommand("import_servers:import_servers", "Import servers from other MCP clients."),
        "settings": LazyCommand("policy:settings", "Look up settings and their values."),
        "doctor": LazyCommand("doctor:doctor", "Report problems and how to fix them."),
        "diff": LazyCommand("policy:diff_diff", "Show what another configuration would change."),
        "policy": LazyCommand("policy:policy", "Export, compare and import all decisions."),
        "store": LazyCommand("policy:store", "Find and delete unreadable rows of the store."),
        "version": LazyCommand("main:version", "Print the version."),
    }
)

ALIASES: Final[Mapping[str, str]] = MappingProxyType({"toolsets": "toolset"})
"""Names that commands had, or that people type for them. They work, and are not listed."""


def command_tree(launch: Callable[[], CompositionRoot]) -> click.Group:
    """`launch` makes the composition root; it is called by the commands that need one."""

    @click.command(
        cls=LazyGroup,
        lazy=COMMANDS,
        aliases=ALIASES,
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
