"""Commands in this process: fast, and by the same code as in one of their own."""

import io
import logging
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import httpx2
import pytest
from tests.support.shared_api import rest_of
from tests.surfaces.cli.terminal import PATIENCE, Done, Gateway, Pegboard, board, clean_environment, serving

from pegboard.bootstrap import serve as api
from pegboard.bootstrap.launcher import CommandLauncher
from pegboard.surfaces.cli import output as waiting
from pegboard.surfaces.cli.main import command_tree, run

Board: TypeAlias = dict[str, Any]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only environment that commands of this test see, and the folder they start in."""
    folder = tmp_path / "home"
    folder.mkdir()
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "PEGBOARD_CONFIG", "PEGBOARD_DATA_DIR", "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in clean_environment(folder).items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def pegboard(
    home: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, own_logging: None
) -> Pegboard:
    # How soon a wait is reported depends on the machine's load; tests of that start a process of their own.
    monkeypatch.setattr(waiting, "SLOW_S", 3600.0)

    def typed(*words: str | Path, stdin: str = "") -> Done:
        capfd.readouterr()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode("utf-8", "surrogateescape"))))
        with ExitStack() as stack:
            # To build the application costs half of a command.
            monkeypatch.setattr(api, "make_rest_api", partial(rest_of, stack))
            code = run(command_tree(CommandLauncher), [str(word) for word in words])
        return Done(code, *capfd.readouterr())

    return typed


@pytest.fixture
def own_logging() -> Iterator[None]:
    """A command decides where its log goes; the next test wants it as it was."""
    loggers = (logging.getLogger(), logging.getLogger("pegboard"))
    before = [(logger, logger.handlers, logger.level) for logger in loggers]
    yield
    for logger, handlers, level in before:
        logger.handlers, logger.level = handlers, level


@pytest.fixture(scope="module")
def board_of_module(request: pytest.FixtureRequest) -> Board:
    """What the module's gateway has on its board: the module's own BOARD."""
    found: Board = request.module.BOARD
    return found


@pytest.fixture(scope="module")
def gateway(
    board_of_module: Board, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Gateway]:
    """One for all tests of a module: each leaves its board as it found it. It has answered once: that takes longest.

    A module about the process itself has `PYTHON = sys.executable`.
    """
    folder = tmp_path_factory.mktemp("gateway")
    config = board(folder / "pegboard.yaml", **board_of_module)
    with serving(folder, config, folder / "data", python=getattr(request.module, "PYTHON", None)) as gateway:
        headers = {"authorization": f"Bearer {gateway.token}"}
        assert httpx2.get(f"{gateway.url}/api/v1/status", headers=headers, timeout=PATIENCE).status_code == 200
        yield gateway


@pytest.fixture
def at_gateway(gateway: Gateway, pegboard: Pegboard, monkeypatch: pytest.MonkeyPatch) -> Pegboard:
    """A second terminal beside the running gateway."""
    monkeypatch.setenv("PEGBOARD_DATA_DIR", str(gateway.data_dir))
    return pegboard
