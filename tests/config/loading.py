"""Short ways to load a text, for the tests of this folder."""

from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent

from pegboard.config.settings import InvalidFile, Settings, load_settings_text
from pegboard.core.model.server import Server

FOLDER = Path("/etc/pegboard")


def settings(text: str, environ: Mapping[str, str] | None = None, file: str = "pegboard.yaml") -> Settings:
    loaded = load_settings_text(dedent(text), file, FOLDER, environ or {})
    assert isinstance(loaded, Settings), str(loaded)
    return loaded


def problems(text: str, environ: Mapping[str, str] | None = None, file: str = "pegboard.yaml") -> list[str]:
    loaded = load_settings_text(dedent(text), file, FOLDER, environ or {})
    assert isinstance(loaded, InvalidFile), "this was expected to be broken"
    return [str(problem) for problem in loaded.problems]


def only_server(text: str, environ: Mapping[str, str] | None = None) -> Server:
    (server,) = settings(text, environ).declared.servers.values()
    return server
