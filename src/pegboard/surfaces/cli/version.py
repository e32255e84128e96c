"""`pegboard version`."""

import click

from pegboard import __version__

from .output import print_json, print_text


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def version(as_json: bool) -> None:
    """The version of Pegboard."""
    print_json({"version": __version__}) if as_json else print_text(f"pegboard {__version__}")
