"""`pegboard ui`: the address at which a browser sees the board of the gateway that runs here."""

import os
import webbrowser
from html import escape
from pathlib import Path
from typing import Final

import click

from pegboard.config import places

from .options import data_dir_option, json_option
from .output import Exit, document, fail, say

FILE: Final = "open.html"


@click.command()
@data_dir_option
@click.option("--open", "opens", is_flag=True, help="Open it in your browser.")
@json_option
def ui(data_dir: Path | None, opens: bool, as_json: bool) -> int:
    """Print the address of the board's pages, with the token that signs you in.

    It works for as long as this gateway runs. Whoever has it can do everything: pass it on to nobody.
    """
    directory = places.data_directory(data_dir, os.environ)
    if not places.is_held(directory):
        fail(Exit.UNREACHABLE, f"no gateway runs with the data directory {directory}. Start one: pegboard serve")
    address = places.read_address(directory)
    if isinstance(address, places.Unusable):
        told = f"a gateway runs with the data directory {directory}, but {address.why}. Try again in a moment."
        fail(Exit.UNREACHABLE, told)
    url = f"{address.url}/ui/?token={address.token}"
    if opens and not webbrowser.open(_leading_to(directory, url).as_uri()):
        fail(Exit.FAILED, f"no browser could be started here. Open this yourself: {url}")
    document({"url": url}) if as_json else say(url)
    return Exit.OK


def _leading_to(directory: Path, url: str) -> Path:
    """A page of your own that leads there: what stands on a browser's command line is seen by everyone on a machine."""
    file = directory / FILE
    file.unlink(missing_ok=True)
    text = f'<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0;url={escape(url)}">'
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as page:
        page.write(text)
    return file
