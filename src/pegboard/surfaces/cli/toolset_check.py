"""`pegboard toolset check`: all that is wrong with a toolset, told without a gateway and without running any of it."""

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .options import json_option
from .output import Exit, fail, print_json, print_progress, print_text
from .sources import ToolsetSourceParam

if TYPE_CHECKING:
    from pegboard.config.manifest import Manifest


def _reject_board_option(context: click.Context, option: click.Parameter, value: str | None) -> None:
    """Other commands take these, so that people try them here."""
    if value is not None:
        raise click.UsageError(
            "check looks at the files alone and at no board, so it takes neither --data-dir nor --config. To see what "
            "importing it would change on a board: pegboard toolset import SOURCE --dry-run"
        )


@click.command("check")
@click.argument("source", type=ToolsetSourceParam())
@click.option(
    "--data-dir", hidden=True, callback=_reject_board_option, expose_value=False, help="Not here: see the error."
)
@click.option(
    "--config", hidden=True, callback=_reject_board_option, expose_value=False, help="Not here: see the error."
)
@json_option
def check(source: Path, as_json: bool) -> int:
    """Check a toolset: a folder, a ZIP or a toolset.yaml. Nothing of it is run, and no gateway is needed.

    Every problem is told with its file, line and key. Ends with 3 when there is one.
    """
    from pegboard.gateway.toolsets.files import FilesUnavailable
    from pegboard.gateway.toolsets.reading import InvalidToolsetError, stage_toolset

    if not source.exists():
        fail(Exit.NOT_FOUND, f"there is no {source}. Name a folder, a ZIP or a toolset.yaml.")
    try:
        with (
            tempfile.TemporaryDirectory(prefix="pegboard-", ignore_cleanup_errors=True) as beside,
            stage_toolset(source.resolve(), Path(beside), shown=str(source)) as found,
        ):
            manifest, warnings = found.manifest, list(found.warnings)
    except InvalidToolsetError as error:
        told = [str(problem) for problem in error.problems]
        fail(Exit.CONFIG, "\n".join(told), {"errors": told})
    except FilesUnavailable as error:
        fail(Exit.FAILED, str(error))
    if as_json:
        print_json({"id": manifest.id, "version": manifest.version, "warnings": warnings, "errors": []})
        return Exit.OK
    for warning in warnings:
        print_progress(f"! {warning}")
    print_text(f"{manifest.id} {manifest.version} is sound: {_contents_text(manifest)}.".replace("  ", " "))
    return Exit.OK


def _contents_text(manifest: "Manifest") -> str:
    counted = (
        (len(manifest.tools), "Python tool"),
        (len(manifest.servers), "server"),
        (len(manifest.containers), "container"),
        (len(manifest.overrides), "override"),
    )
    return ", ".join(f"{count} {word}{'' if count == 1 else 's'}" for count, word in counted if count) or "it is empty"
