"""Short ways to read a manifest, for the tests of this folder."""

from pathlib import Path
from textwrap import dedent

from pegboard.config.manifest.model import Manifest
from pegboard.config.manifest.reader import read_manifest
from pegboard.config.settings import InvalidFile

FOLDER = Path("/data/toolsets/weather/abc")


def manifest(text: str, file: str = "toolset.yaml") -> Manifest:
    read = read_manifest(dedent(text), file, FOLDER, {})
    assert isinstance(read, Manifest), str(read)
    return read


def problems(text: str | bytes, file: str = "toolset.yaml") -> list[str]:
    read = read_manifest(dedent(text) if isinstance(text, str) else text, file, FOLDER, {})
    assert isinstance(read, InvalidFile), "this was expected to be broken"
    return [str(problem) for problem in read.problems]


def warnings(text: str) -> list[str]:
    return [str(warning) for warning in manifest(text).warnings]
