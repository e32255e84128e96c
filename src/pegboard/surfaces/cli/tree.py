"""The command tree."""

import click

from pegboard import __version__

from .board import diff, doctor, version
from .imports import import_servers
from .link import Launch
from .options import carried
from .run import serve, stdio
from .servers import servers
from .tools import tools, why


def command_tree(launch: Launch) -> click.Group:
    @click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
    @click.version_option(__version__, prog_name="pegboard")
    @click.pass_context
    def pegboard(context: click.Context) -> None:
        """One wall for the tools of AI models."""
        context.obj = carried(launch)

    for command in (serve, stdio, servers, tools, why, import_servers, doctor, diff, version):
        pegboard.add_command(command)
    return pegboard
