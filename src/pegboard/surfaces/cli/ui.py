"""`pegboard ui`: an address at which a browser sees the board of the gateway that runs here, signed in."""

import os
import webbrowser
from html import escape
from pathlib import Path
from typing import Final

import click

from pegboard.config import places

from .client import running_gateway
from .link import Options
from .options import call_api, config_option, data_dir_option, json_option
from .output import Exit, fail, print_json, print_text
from .running import run_to_end

REDIRECT_FILE: Final = "open.html"


@click.command()
@config_option
@data_dir_option
@click.option("--open", "opens", is_flag=True, help="Open it in your browser.")
@json_option
def ui(config: Path | None, data_dir: Path | None, opens: bool, as_json: bool) -> int:
    """Print an address of the web UI that signs you in.

    It works once, within a quarter of an hour; the browser then stays signed in. Whoever opens it can do everything:
    pass it on to nobody.
    """
    directory = places.data_directory(data_dir, os.environ)
    if not places.is_locked(directory):
        fail(Exit.UNREACHABLE, f"no gateway runs with the data directory {directory}. Start one: pegboard serve")
    address = places.read_address(directory)
    if isinstance(address, places.UnusableAddress):
        told = f"a gateway runs with the data directory {directory}, but {address.why}. Try again in a moment."
        fail(Exit.UNREACHABLE, told)
    paths: list[str] = []

    async def ask() -> int:
        async with running_gateway(Options(config, data_dir), lambda key, id: False) as api:
            if api is None:
                fail(
                    Exit.UNREACHABLE, f"no gateway runs with the data directory {directory}. Start one: pegboard serve"
                )
            paths.append((await call_api(api, "POST", "/session/link"))["path"])
        return Exit.OK

    run_to_end(ask)
    url = f"{address.url}{paths[0]}"
    if opens and not webbrowser.open(_redirect_page(directory, url).as_uri()):
        fail(Exit.FAILED, f"no browser could be started here. Open this yourself: {url}")
    print_json({"url": url}) if as_json else print_text(url)
    return Exit.OK


def _redirect_page(directory: Path, url: str) -> Path:
    """A page of your own that leads there: what stands on a browser's command line is seen by everyone on a machine."""
    file = directory / REDIRECT_FILE
    file.unlink(missing_ok=True)
    text = f'<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0;url={escape(url)}">'
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as page:
        page.write(text)
    return file
