"""What the program leaves unloaded, and that whoever asks for it gets it all the same."""

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from threading import Barrier
from types import ModuleType

import pytest

from pegboard.surfaces.cli.late_packages import LATE, open_late

SERVING = """
import sys
from pegboard.surfaces.cli.late_packages import open_late
open_late()
import pegboard.compose, pegboard.gateway.gateway, pegboard.providers.mcp, pegboard.store, pegboard.surfaces.listening
import pegboard.surfaces.mcp.http, pegboard.surfaces.mcp.stdio, pegboard.surfaces.root, pegboard.surfaces.sign_in
import pegboard.compose.serving, pegboard.compose.chatting, pegboard.config.settings
print(*sorted(sys.modules))
"""


@pytest.fixture
def wall(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A package that opens late, and that notes each time its `__init__` runs."""
    package = tmp_path / "late_wall"
    package.mkdir()
    (package / "__init__.py").write_text(
        "from .peg import PEG\nfrom . import asking\nopened = globals().get('opened', 0) + 1\n"
    )
    (package / "peg.py").write_text("PEG = object()\n")
    (package / "asking.py").write_text(
        "try:\n    from late_wall import opened\nexcept ImportError:\n    opened = None\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])
    open_late(["late_wall"])
    yield "late_wall"
    for name in [name for name in sys.modules if name.partition(".")[0] == "late_wall"]:
        del sys.modules[name]


@pytest.mark.behaviour("cli.loads_what_it_uses")
def test_serving_loads_no_orm_no_second_server_and_no_cipher() -> None:
    said = subprocess.run([sys.executable, "-c", SERVING], capture_output=True, text=True, check=True, timeout=60)
    loaded = set(said.stdout.split())
    assert {"mcp.client.session", "mcp.server.lowlevel.server", "sqlalchemy.ext.asyncio.engine"} <= loaded
    assert not loaded & {"sqlalchemy.orm", "mcp.server.mcpserver", "mcp.client.client", "cryptography", "alembic"}


@pytest.mark.behaviour("chat.loaded_by_the_first_request")
def test_serving_loads_nothing_of_a_chat_before_somebody_chats() -> None:
    said = subprocess.run([sys.executable, "-c", SERVING], capture_output=True, text=True, check=True, timeout=60)
    chat = ("pegboard.gateway.chat", "pegboard.surfaces.chat", "pegboard.providers.models", "pegboard.prompts.formats")
    assert [name for name in said.stdout.split() if name.startswith(chat)] == []


@pytest.mark.parametrize("name", LATE)
def test_what_opens_late_has_no_module_that_its_front_gives_another_meaning(name: str) -> None:
    package = import_module(name)
    assert package.__file__ is not None
    own = {path.stem for path in Path(package.__file__).parent.iterdir()} & vars(package).keys() - {"__init__"}
    assert {each: type(getattr(package, each)) for each in own} == dict.fromkeys(own, ModuleType)


def test_a_module_of_a_late_package_is_had_without_the_package(wall: str) -> None:
    peg = import_module(f"{wall}.peg")
    assert "opened" not in vars(sys.modules[wall])
    assert sys.modules[wall].peg is peg


def test_a_name_of_its_own_opens_the_package_once(wall: str) -> None:
    package = import_module(wall)
    assert package.PEG is import_module(f"{wall}.peg").PEG
    assert (package.opened, type(package)) == (1, ModuleType)


def test_a_module_is_had_by_its_name_without_the_package(wall: str) -> None:
    package = import_module(wall)
    assert package.peg is import_module(f"{wall}.peg")
    assert "opened" not in vars(package)


def test_a_name_that_is_nowhere_is_missing_as_in_any_package(wall: str) -> None:
    package = import_module(wall)
    with pytest.raises(AttributeError, match="nowhere"):
        _ = package.nowhere


def test_a_package_that_asks_itself_while_it_opens_is_told_what_is_missing(wall: str) -> None:
    package = import_module(wall)
    assert package.opened == 1
    assert import_module(f"{wall}.asking").opened is None


def test_the_files_of_a_package_that_has_not_opened_are_found(wall: str) -> None:
    import_module(wall)
    assert files(wall).joinpath("peg.py").read_text() == "PEG = object()\n"


def test_threads_that_ask_together_open_it_once(wall: str) -> None:
    package = import_module(wall)
    together = Barrier(8, timeout=20)

    def ask(_: int) -> object:
        together.wait()
        return package.PEG, package.opened

    with ThreadPoolExecutor(8) as threads:
        assert set(threads.map(ask, range(8))) == {(import_module(f"{wall}.peg").PEG, 1)}
