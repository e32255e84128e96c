"""The command tree. A command's module is imported when the command is used: most need much that `version` does not."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

import click

from pegboard import __version__

from .lazy_group import LazyCommand, LazyGroup
from .link import CompositionRoot

COMMANDS: Final[Mapping[str, LazyCommand]] = MappingProxyType(
    {
        "serve": LazyCommand("run:serve", "Run the gateway: MCP over HTTP, REST API and web UI."),
        "stdio": LazyCommand("run:stdio", "Run the gateway as a stdio server for one client."),
        "ui": LazyCommand("ui:ui", "Print an address that opens the web UI."),
        "servers": LazyCommand("servers:servers", "List, add and operate MCP servers."),
        "toolset": LazyCommand("toolset:toolset", "Import, check and export toolsets."),
        "tools": LazyCommand("deciding:tools", "List, show, search, call and approve tools."),
        "run": LazyCommand("programs:run", "Run a Python program that calls tools."),
        "stubs": LazyCommand("programs:stubs", "Print tools as typed Python functions."),
        "search": LazyCommand("meaning:search", "Set up and evaluate semantic search."),
        "prompt": LazyCommand("prompt:prompt", "Show what a model would receive for a query."),
        "docspace": LazyCommand("docspace:docspace", "Check the connection to an ONLYOFFICE DocSpace."),
        "db": LazyCommand("db:db", "Check and query databases."),
        "chat": LazyCommand("chat:chat", "Talk with a model that uses the tools."),
        "tickets": LazyCommand("tickets:tickets", "Decide about calls that wait for confirmation."),
        "approvals": LazyCommand("approvals:approvals", "Review new and changed tools."),
        "overrides": LazyCommand("overrides:overrides", "Change how tools look and behave."),
        "why": LazyCommand("why:why", "Explain why a tool is there or not."),
        "activity": LazyCommand("activity:activity", "Show calls, refusals and decisions."),
        "tokens": LazyCommand("tokens:tokens", "Create, list and revoke API tokens."),
        "grants": LazyCommand("grants:grants", "Limit which toolsets a caller may use."),
        "import": LazyCommand("imports:import_servers", "Import servers from other MCP clients."),
        "settings": LazyCommand("settings:settings", "Look up settings and their values."),
        "doctor": LazyCommand("doctor:doctor", "Report problems and how to fix them."),
        "diff": LazyCommand("diff:diff", "Show what another configuration would change."),
        "policy": LazyCommand("policy:policy", "Export, compare and import all decisions."),
        "store": LazyCommand("store:store", "Find and delete unreadable rows of the store."),
        "version": LazyCommand("version:version", "Print the version."),
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
