"""Packages of the tests' own environment as wheels again, so that examples get theirs without a network."""

from importlib.metadata import PackagePath, distribution
from pathlib import Path
from zipfile import ZipFile


def repacked(folder: Path, *names: str) -> Path:
    """A folder for `--find-links` that has these pure packages, as they are installed here."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        found = distribution(name)
        stem = f"{found.metadata['Name'].replace('-', '_')}-{found.version}"
        with ZipFile(folder / f"{stem}-py3-none-any.whl", "w") as archive:
            for path in found.files or ():
                if _belongs(path):
                    archive.write(path.locate(), path.as_posix())
    return folder


def _belongs(path: PackagePath) -> bool:
    """What the wheel brought, and nothing that came with installing it."""
    return (
        ".." not in path.parts
        and path.suffix != ".pyc"
        and path.name not in ("INSTALLER", "REQUESTED", "direct_url.json")
    )
