"""Where things lie: which file is taken in which folder, and what only its owner may touch."""

import os
import stat
from pathlib import Path

import pytest

from pegboard.config import paths as places


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a file of its own, opened by a user who has none."""
    project = tmp_path / "project"
    project.mkdir()
    (project / places.CONFIG_FILE_NAME).write_text("servers: {}\n")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "settings"))
    monkeypatch.chdir(project)
    return project


def test_the_file_of_the_folder_is_taken_by_commands_that_a_person_types(folder: Path) -> None:
    assert places.config_file(None, {}) == folder / places.CONFIG_FILE_NAME


def test_a_gateway_that_a_client_starts_takes_no_file_from_the_folder_it_is_started_in(
    folder: Path, tmp_path: Path
) -> None:
    assert places.config_file(None, {}, here=False) is None
    own = tmp_path / "settings" / "pegboard" / places.CONFIG_FILE_NAME
    own.parent.mkdir(parents=True)
    own.write_text("servers: {}\n")
    assert places.config_file(None, {}, here=False) == own
    assert places.config_file(folder / places.CONFIG_FILE_NAME, {}, here=False) == folder / places.CONFIG_FILE_NAME


def test_the_lock_is_for_its_owner_alone_and_held_by_one(tmp_path: Path) -> None:
    with places.acquire_lock(tmp_path) as alone:
        assert alone
        assert places.is_locked(tmp_path)
        assert stat.S_IMODE((tmp_path / places.LOCK_FILE_NAME).stat().st_mode) == 0o600
    assert not places.is_locked(tmp_path)


@pytest.mark.behaviour("cli.stale_address")
def test_whoever_takes_the_place_of_a_killed_gateway_takes_its_address_away(tmp_path: Path) -> None:
    places.write_address(tmp_path, places.GatewayAddress("http://127.0.0.1:1", "token", 7))
    with places.acquire_lock(tmp_path) as alone:
        assert alone
        assert places.read_address(tmp_path) == places.UnusableAddress(
            f"there is no {tmp_path / places.ADDRESS_FILE_NAME}"
        )
        places.write_address(tmp_path, own := places.GatewayAddress("http://127.0.0.1:2", "other", 8))
        with places.acquire_lock(tmp_path) as again:
            assert not again
        assert places.read_address(tmp_path) == own


def test_an_address_that_another_user_wrote_is_not_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    address = places.GatewayAddress("http://127.0.0.1:1", "token", 7)
    places.write_address(tmp_path, address)
    assert places.read_address(tmp_path) == address
    someone = os.getuid() + 1
    monkeypatch.setattr(os, "getuid", lambda: someone)
    assert isinstance(places.read_address(tmp_path), places.UnusableAddress)
