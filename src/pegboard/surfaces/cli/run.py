"""`pegboard serve` and `pegboard stdio`: the gateway itself."""

import sys
from pathlib import Path

import click

from .link import Options
from .options import config_option, data_dir_option, json_option, launcher
from .output import tell


@click.command()
@config_option
@data_dir_option
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", default=8460, show_default=True, type=click.IntRange(0, 65535), help="0 takes a free one.")
@json_option
def serve(config: Path | None, data_dir: Path | None, host: str, port: int, as_json: bool) -> None:
    """Run the gateway: MCP over HTTP at /mcp. Ends with Ctrl-C.

    With --json, one line of JSON with the endpoint is printed when it listens.
    """
    sys.exit(launcher().serve(Options(config, data_dir, host, port), tell, as_json=as_json))


@click.command()
@config_option
@data_dir_option
def stdio(config: Path | None, data_dir: Path | None) -> None:
    """Run the gateway as a stdio server, for a client that starts it itself."""
    sys.exit(launcher().stdio(Options(config, data_dir)))
