"""`pegboard toolset export`: a toolset as a file or folder for others, without secrets."""

import os
import re
from pathlib import Path
from typing import Final

import click

from .link import Answer, Api
from .options import asks, refused, toolset_path
from .output import Exit, document, fail, say, tell

_FILE_NAME: Final = re.compile(r'filename="([A-Za-z0-9._+-]+)"')


@click.command("export")
@click.argument("toolset")
@click.option("--to", "target", type=click.Path(path_type=Path), help="The file.  [default: ID-VERSION.zip, here]")
@click.option("--folder", type=click.Path(path_type=Path), help="Write a folder of this name, and no ZIP.")
@asks()
async def export(api: Api, toolset: str, target: Path | None, folder: Path | None, *, as_json: bool) -> None:
    """Write a toolset as a ZIP that others can import: its manifest and files, and a ${NAME} for each secret.

    Never overwrites. The same toolset gives the same bytes.
    """
    if target is not None and folder is not None:
        raise click.UsageError("--to names a ZIP and --folder a folder. Choose one.")
    got = await api.download(f"/toolsets/{toolset_path(toolset)}/export")
    if isinstance(got, Answer):
        refused(got)
    named = _FILE_NAME.search(got.headers.get("content-disposition", ""))
    file = target or Path(named[1] if named else f"{toolset}.zip")
    names = [name for name in got.headers.get("x-pegboard-secrets", "").split(",") if name]
    if folder is not None:
        _unpacked(got.content, folder)
    else:
        _written(got.content, file)
    for name in names:
        tell(f"! In the place of a secret stands ${{{name}}}: whoever imports it sets that secret.")
    where = str(folder or file)
    document({"toolset": toolset, "path": where, "secrets": names}) if as_json else say(f"{toolset} is in {where}.")


def _written(content: bytes, file: Path) -> None:
    """A new file, whole or not at all."""
    try:
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
    except FileExistsError:
        fail(Exit.REFUSED, f"{file} is there already. Name another: --to FILE")
    except OSError as error:
        fail(Exit.FAILED, f"{file} cannot be written: {error.strerror or error}. Choose another place: --to FILE")
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(content)
    except OSError as error:
        file.unlink(missing_ok=True)
        fail(Exit.FAILED, f"{file} could not be written: {error.strerror or error}. Nothing of it was kept.")


def _unpacked(content: bytes, folder: Path) -> None:
    import tempfile

    from pegboard.config.bundle import BadBundleError, staged_archive

    if folder.exists():
        fail(Exit.REFUSED, f"{folder} is there already. Name another: --folder FOLDER")
    beside = folder.absolute().parent
    try:
        beside.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".pegboard-", dir=beside) as held:
            archive = Path(held) / "bundle.zip"
            archive.write_bytes(content)
            with staged_archive(archive, Path(held)) as staged:
                for name in staged.files:
                    (staged.folder / name).chmod(0o644)
                staged.folder.chmod(0o755)
                staged.folder.rename(folder)
    except (OSError, BadBundleError) as error:
        fail(Exit.FAILED, f"{folder} could not be written: {error}. Nothing of it was kept.")
