"""What a command finds where it is started: the operator's file, the data directory and the store's address."""

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from pegboard.config import places
from pegboard.config.ours import untrusted_directory_reason, untrusted_file_reason
from pegboard.surfaces.cli.link import Options
from pegboard.surfaces.cli.output import Exit, fail, print_progress

if TYPE_CHECKING:
    from pegboard.config.settings import Settings


def now() -> datetime:
    return datetime.now(UTC)


def every_server(key: str, id: str) -> bool:
    return True


def load_settings(options: Options, *, here: bool = True) -> "Settings | None":
    """The operator's file, or the end of the command with everything that is wrong in it."""
    from pegboard.config.settings import InvalidFile, load_settings_file

    path = places.config_file(options.config, os.environ, here=here)
    if path is None:
        return None
    unnamed = here and places.is_from_working_directory(path, options.config, os.environ)
    if unnamed and (why := untrusted_file_reason(path)) is not None:
        fail(Exit.CONFIG, f"{path} is not used: {why}")
    loaded = load_settings_file(path)
    if isinstance(loaded, InvalidFile):
        told = [str(problem) for problem in loaded.problems]
        fail(Exit.CONFIG, "\n".join(("the configuration cannot be used.", *told)), {"errors": told})
    if unnamed:
        print_progress(f"  … with {path}, the one of this folder")
    return loaded


def ensure_data_directory(options: Options) -> Path:
    directory = places.data_directory(options.data_dir, os.environ)
    try:
        places.ensure_directory(directory)
        why = untrusted_directory_reason(directory)
    except OSError as error:
        fail_without_data_directory(directory, error)
    if why is not None:
        fail(Exit.REFUSED, f"the data directory {directory} is not used: {why}")
    return directory


def fail_without_data_directory(directory: Path, error: OSError) -> NoReturn:
    why = error.strerror or str(error)
    fail(Exit.UNREACHABLE, f"the data directory {directory} cannot be used: {why}. Choose another: --data-dir")


def store_url(settings: "Settings | None", directory: Path) -> str:
    from pegboard.config.references import expander
    from pegboard.ports import UnresolvedReference

    if settings is None or settings.store is None:
        return f"sqlite:///{directory / places.DATABASE_FILE_NAME}"
    url = expander(os.environ, settings.folder)(settings.store)
    if isinstance(url, UnresolvedReference):
        fail(Exit.CONFIG, f"{settings.file}: store: {url.why}")
    return url


def reference_folder(settings: "Settings | None") -> Path:
    """What references to files are taken from."""
    return settings.folder if settings is not None else Path.cwd()
