"""`pegboard serve` and `pegboard stdio`."""

from pathlib import Path

import click

from pegboard.core.model.settings import PresentationMode
from pegboard.surfaces.cli.api import Options
from pegboard.surfaces.cli.options import config_option, data_dir_option, json_option, launcher


@click.command()
@config_option
@data_dir_option
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", default=8460, show_default=True, type=click.IntRange(0, 65535), help="0 takes a free one.")
@click.option(
    "--open", "is_open", is_flag=True, help="Start though tokens were required before, and there is none now."
)
@json_option
def serve(config: Path | None, data_dir: Path | None, host: str, port: int, is_open: bool, as_json: bool) -> int:
    """Run the gateway: MCP over HTTP at /mcp. Ends with Ctrl-C.

    With --json, one line of JSON with the endpoint is printed when it listens.
    """
    return launcher().serve(Options(config, data_dir, host, port, is_open), as_json=as_json)


@click.command()
@config_option
@data_dir_option
@click.option(
    "--presentation",
    type=click.Choice([presented.value for presented in PresentationMode]),
    help="Show the tools themselves, or those by which they are found and called; by default as in pegboard.yaml.",
)
def stdio(config: Path | None, data_dir: Path | None, presentation: str | None) -> int:
    """Run the gateway as a stdio server, for a client that starts it itself.

    Standard output carries the protocol and nothing else, so there is no --json here.
    """
    return launcher().stdio(Options(config, data_dir), presentation)
