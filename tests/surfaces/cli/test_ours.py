"""What a command trusts on this machine: a file that nobody named, and the directory that keeps what was decided."""

import os
from pathlib import Path

import pytest
from tests.surfaces.cli.terminal import Pegboard, board, of_folder, peer, usual_board

OTHER = 12_345
"""A user who is neither this one nor root."""


def as_another(monkeypatch: pytest.MonkeyPatch, *, owner: int) -> None:
    """Files of this test seem to belong to somebody else: this process is another user than the one who made them."""
    monkeypatch.setattr("pegboard.config.paths.os.getuid", lambda: owner)
    monkeypatch.setattr("pegboard.config.paths._ROOT_UID", -1)


@pytest.mark.behaviour("cli.file_of_the_folder_is_told")
def test_a_file_that_nobody_named_is_told_and_one_that_was_named_is_not(pegboard: Pegboard, home: Path) -> None:
    file = board(home / "pegboard.yaml", {"one": peer("many", "1", trust="open")})
    assert pegboard("tools", "list").err == f"{of_folder(home)}  ● one~one: 1 tool\n{usual_board(home)}"
    assert pegboard("tools", "list", "--config", file).err == f"  ● one~one: 1 tool\n{usual_board(home)}"
    usual = home / ".config" / "pegboard"
    usual.mkdir(parents=True)
    file.rename(usual / "pegboard.yaml")
    assert pegboard("tools", "list").err == f"  ● one~one: 1 tool\n{usual_board(home)}"


@pytest.mark.behaviour("cli.file_of_the_folder_is_told")
def test_a_file_of_the_folder_that_everybody_may_write_to_starts_nothing(pegboard: Pegboard, home: Path) -> None:
    file = board(home / "pegboard.yaml", {"one": {"command": "touch", "args": [str(home / "started")]}})
    file.chmod(0o666)
    refused = pegboard("tools", "list")
    assert (refused.code, refused.out) == (3, "")
    assert refused.err == (
        f"pegboard: {file} is not used: everybody may write to it, and so choose what is started. "
        f"Run: chmod o-w {file}\n"
    )
    assert not (home / "started").exists()
    file.chmod(0o644)
    assert pegboard("servers", "list").code == 0


@pytest.mark.behaviour("cli.file_of_the_folder_is_told")
def test_a_file_of_the_folder_that_belongs_to_another_user_starts_nothing_unless_it_is_named(
    pegboard: Pegboard, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = board(home / "pegboard.yaml", {})
    pegboard("servers", "list")
    with monkeypatch.context() as patched:
        as_another(patched, owner=OTHER)
        refused = pegboard("servers", "list", "--data-dir", "data")
        assert (refused.code, refused.err) == (
            3,
            f"pegboard: {file} is not used: it belongs to another user. If you trust what it starts, name it: "
            f"--config {file}\n",
        )
        named = pegboard("servers", "list", "--config", file)
        assert "is not used: it belongs to another user. Choose another: --data-dir" in named.err


@pytest.mark.behaviour("store.directory_is_ours")
def test_a_data_directory_that_others_may_write_to_is_not_used(pegboard: Pegboard, home: Path) -> None:
    data = home / "my data"
    data.mkdir()
    data.chmod(0o777)
    for words in (("servers", "list"), ("servers", "add", "x", "--url", "http://h"), ("serve", "--port", "0")):
        refused = pegboard(*words, "--data-dir", data)
        assert (refused.code, refused.err) == (
            5,
            f"pegboard: the data directory {data} is not used: others may write to it, and so could take the gateway "
            f"over. Run: chmod go-w '{data}'\n",
        )
    assert [*data.iterdir()] == []
    data.chmod(0o1777)
    assert "it is everybody's. Choose another: --data-dir" in pegboard("servers", "list", "--data-dir", data).err
    data.chmod(0o755)
    assert pegboard("servers", "list", "--data-dir", data).code == 0


@pytest.mark.behaviour("store.directory_is_ours")
def test_a_directory_of_a_group_of_ones_own_is_used_and_one_of_another_group_is_not(
    pegboard: Pegboard, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = home / "data"
    data.mkdir()
    data.chmod(0o770)
    assert pegboard("servers", "list", "--data-dir", data).code == 0
    monkeypatch.setattr("pegboard.config.paths.os.getegid", lambda: os.stat(data).st_gid + 1)
    assert "others may write to it" in pegboard("servers", "list", "--data-dir", data).err


@pytest.mark.behaviour("store.directory_is_ours")
@pytest.mark.parametrize("name", ["pegboard.db", "secret.key", "gateway.json", "gateway.lock"])
def test_a_link_in_place_of_what_is_kept_is_not_followed(pegboard: Pegboard, home: Path, name: str) -> None:
    data, elsewhere = home / "data", home / "elsewhere"
    data.mkdir(mode=0o700)
    (data / name).symlink_to(elsewhere)
    refused = pegboard("servers", "list", "--data-dir", data)
    assert (refused.code, refused.err) == (
        5,
        f"pegboard: the data directory {data} is not used: {name} in it is a link to {elsewhere}. If you did not make "
        f"it, remove it: rm {data / name}. To keep the store elsewhere, name that place under store: in "
        "pegboard.yaml\n",
    )
    assert not elsewhere.exists()
    doctor = pegboard("doctor", "--data-dir", data, "--json")
    assert (doctor.code, [finding["subject"] for finding in doctor.json["findings"]]) == (1, ["data directory"])
