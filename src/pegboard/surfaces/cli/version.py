"""`pegboard version`."""

import click

from pegboard import __version__

from .output import document, say


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def version(as_json: bool) -> None:
    """The version of Pegboard."""
    document({"version": __version__}) if as_json else say(f"pegboard {__version__}")
