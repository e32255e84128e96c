"""`pegboard toolset export`: a toolset as a file or folder for others, without secrets."""

import os
from pathlib import Path
from typing import Any

import click

from .link import ApiClient, ApiResponse
from .options import call_api, fail_with_response, gateway_command, toolset_path
from .output import Exit, fail, print_json, print_progress, print_text
from .text import one_line


@click.command("export")
@click.argument("toolset")
@click.option("--to", "target", type=click.Path(path_type=Path), help="The file.  [default: ID-VERSION.zip, here]")
@click.option("--folder", type=click.Path(path_type=Path), help="Write a folder of this name, and no ZIP.")
@click.option("--dry-run", is_flag=True, help="Only tell what would be replaced and left out.")
@gateway_command()
async def export(
    api: ApiClient, toolset: str, target: Path | None, folder: Path | None, dry_run: bool, *, as_json: bool
) -> None:
    """Write a toolset as a ZIP that others can import: its manifest and files, and a ${NAME} for each secret.

    Values of env and headers are replaced unless they are plainly harmless; arguments and addresses where they look
    like secrets. Tells what was replaced, by name. Never overwrites. The same toolset gives the same bytes.
    """
    if target is not None and folder is not None:
        raise click.UsageError("--to names a ZIP and --folder a folder. Choose one.")
    path = f"/toolsets/{toolset_path(toolset)}/export"
    found = await call_api(api, "GET", path, params=[("dryRun", "true")])
    if dry_run:
        print_json(found) if as_json else _print_left_out(found)
        return
    got = await api.download(path)
    if isinstance(got, ApiResponse):
        fail_with_response(got)
    file = target or Path(found["name"])
    if folder is not None:
        _unpack_zip(got.content, folder)
    else:
        _write_new_file(got.content, file)
    where = str(folder or file)
    if as_json:
        names = [secret["name"] for secret in found["secrets"]]
        replaced = {key: found[key] for key in ("dropped", "leftOut", "doubts")}
        print_json({"toolset": toolset, "path": where, "secrets": names, **replaced})
        return
    _print_left_out(found)
    print_text(f"{toolset} is in {where}.")


def _print_left_out(found: dict[str, Any]) -> None:
    """By names and places: what stood there is not shown."""
    for secret in found["secrets"]:
        print_progress(
            f"! ${{{secret['name']}}} stands for what may be a secret at {one_line(', '.join(secret['at']))}"
        )
    for place in found["dropped"]:
        print_progress(f"! What looks like a secret and cannot be asked for is left out at {one_line(place)}")
    for name in found["leftOut"]:
        print_progress(f"! {one_line(name)} is left out: files of this name usually hold secrets")
    doubts = found["doubts"]
    if doubts:
        more = f" and {len(doubts) - 10:,} more" if len(doubts) > 10 else ""
        print_progress(
            f"! Read these before you give it away; they look like secrets: {one_line(', '.join(doubts[:10]))}{more}"
        )
    if found["secrets"]:
        print_progress("  Whoever imports it sets these secrets. For what everybody may know, write ${NAME:-value}.")


def _write_new_file(content: bytes, file: Path) -> None:
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


def _unpack_zip(content: bytes, folder: Path) -> None:
    import tempfile

    from pegboard.config.bundle import BadBundleError, is_executable, stage_archive

    if folder.exists():
        fail(Exit.REFUSED, f"{folder} is there already. Name another: --folder FOLDER")
    beside = folder.absolute().parent
    try:
        beside.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".pegboard-", dir=beside) as held:
            archive = Path(held) / "bundle.zip"
            archive.write_bytes(content)
            with stage_archive(archive, Path(held)) as staged:
                for name in staged.files:
                    (staged.folder / name).chmod(0o755 if is_executable(staged.folder / name) else 0o644)
                staged.folder.chmod(0o755)
                staged.folder.rename(folder)
    except (OSError, BadBundleError) as error:
        fail(Exit.FAILED, f"{folder} could not be written: {error}. Nothing of it was kept.")
