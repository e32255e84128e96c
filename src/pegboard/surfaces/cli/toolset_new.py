"""`pegboard toolset new`: a folder with a toolset that works as it is, to begin from."""

import shutil
import tempfile
from pathlib import Path
from typing import Final

import click

from .options import json_option
from .output import Exit, fail, print_json, print_text

_NEXT_STEPS: Final = """\
{folder} is a toolset that works as it is. Next:

  pegboard toolset check {folder}
  pegboard toolset import {folder} --link"""


@click.command("new")
@click.argument("name")
@click.option("--folder", type=click.Path(path_type=Path), help="Where to write it.  [default: a folder NAME, here]")
@json_option
def new(name: str, folder: Path | None, as_json: bool) -> int:
    """Write a new toolset: a folder with a toolset.yaml, a Python module with typed tools, and their tests.

    A folder that is there already is not touched.
    """
    from pegboard.config.manifest import new_toolset
    from pegboard.core.ids import BadId

    files = new_toolset(name)
    if isinstance(files, BadId):
        fail(Exit.USAGE, f"{files.why}.")
    place = folder or Path(name)
    if place.exists() or place.is_symlink():
        fail(Exit.REFUSED, f"{place} is there already. Choose another place: --folder FOLDER")
    try:
        above = place.absolute().parent
        above.mkdir(parents=True, exist_ok=True)
        # Written aside and put in its place by one rename, so that it is never there by half.
        aside = Path(tempfile.mkdtemp(prefix=".pegboard-", dir=above))
        try:
            for path, text in files.items():
                (aside / path).parent.mkdir(parents=True, exist_ok=True)
                (aside / path).write_text(text, "utf-8")
            aside.chmod(0o755)
            aside.rename(place)
        finally:
            shutil.rmtree(aside, ignore_errors=True)
    except OSError as error:
        fail(
            Exit.FAILED, f"{place} cannot be written: {error.strerror or error}. Choose another place: --folder FOLDER"
        )
    print_json({"toolset": name, "path": str(place), "files": sorted(files)}) if as_json else print_text(
        _NEXT_STEPS.format(folder=place)
    )
    return Exit.OK
