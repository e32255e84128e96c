"""A pegboard.yaml that is edited while the gateway runs, as the commands of a second terminal see it."""

import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.surfaces.cli.terminal import Pegboard, board, by_id, ended, peer, serving

from pegboard.config.schema.document import ENVIRONMENT_NOTE


def until(pegboard: Pegboard, holds: Callable[[Any], bool]) -> Any:
    """Asks until the board is as wanted; the deadline of every test ends the waiting."""
    while not holds(body := pegboard("servers", "list", "--json").json):
        pass
    return body


@pytest.mark.behaviour("config.reloaded_on_change", "config.broken_edit_keeps_the_board", "config.broken_edit_is_told")
def test_a_good_edit_is_loaded_and_a_broken_one_is_told_everywhere_until_it_is_mended(
    pegboard: Pegboard, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PEGBOARD_DATA_DIR", str(home / "data"))
    servers = {"one": peer("many", "1", trust="open")}
    config = board(home / "board.yaml", servers)
    with serving(home, config, home / "data") as gateway:
        first = until(pegboard, lambda body: by_id(body["servers"])["one~one"]["health"]["state"] == "up")

        board(config, {**servers, "two": peer("many", "2", trust="open")})
        second = until(pegboard, lambda body: len(body["servers"]) == 2)
        since = [by_id(body["servers"])["one~one"]["health"]["since"] for body in (first, second)]
        assert since[0] == since[1], "a server that did not change keeps its connection"

        config.write_text("servers: {two: {comand: x}}\n")
        broken = until(pegboard, lambda body: bool(body["notices"]))
        told = (
            f"{config} was edited and cannot be used; the last good board stays.\n"
            f"{config}:1: servers.two.comand: unknown key. Did you mean 'command'?"
        )
        assert [(notice["subject"], notice["message"]) for notice in broken["notices"]] == [("configuration", told)]
        assert len(broken["servers"]) == 2
        shown = "! " + told.replace("\n", "\n  ") + "\n"
        assert pegboard("servers", "list").err == shown
        assert pegboard("tools", "list").err == shown
        doctor = pegboard("doctor", "--json")
        assert doctor.code == 1
        assert [finding["message"] for finding in doctor.json["findings"]] == [told]
        called = pegboard("tools", "call", "mcp:one~one:tool_00000", "--arg", "text=still here")
        assert called.out == "tool_00000: still here\n"

        late_keys = {"gateway": {"allowed_hosts": ["board.example"]}, "presentation": "search"}
        config.write_text(json.dumps({"servers": servers, **late_keys}))
        late = until(pegboard, lambda body: [notice["subject"] for notice in body["notices"]] == ["restart"])
        assert [notice["message"] for notice in late["notices"]] == [
            f"{config}: gateway and presentation changed, and is read only when the gateway starts. Start it again."
        ]
        board(config, servers)
        until(pegboard, lambda body: not body["notices"])
        log = ended(gateway.process, signal.SIGTERM).err
    assert told in log
    assert f"{config} was loaded again." in log
    assert "Traceback" not in log


@pytest.mark.behaviour("cli.doctor_asks_the_gateway", "config.granted_toolsets_exist")
def test_the_doctor_tells_of_tokens_as_the_running_gateway_has_them(
    pegboard: Pegboard, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PEGBOARD_DATA_DIR", str(home / "data"))
    caller = {"alice": {"token": "${ALICE_TOKEN}", "toolsets": ["one"]}}
    servers = {"one": peer("many", "1", trust="open")}
    config = board(home / "board.yaml", servers, principals=caller)
    unset = (
        "'alice' cannot come in: ${ALICE_TOKEN} stands for nothing: the environment variable ALICE_TOKEN is not set."
    )
    before = pegboard("doctor", "--json", "--config", config).json["findings"]
    (told,) = [finding["message"] for finding in before]
    assert unset in told
    assert told.endswith(ENVIRONMENT_NOTE)
    with serving(home, config, home / "data", ALICE_TOKEN="a-token-of-good-length"):
        assert pegboard("doctor", "--json").json["findings"] == []
        board(config, servers, principals={"alice": {"token": "${ALICE_TOKEN}", "toolsets": ["two"]}})
        while not (findings := pegboard("doctor", "--json").json["findings"]):
            pass
        (told,) = [finding["message"] for finding in findings]
        assert told.startswith(f"{config}:")
        assert "principals.alice.toolsets[0]: there is no toolset 'two'." in told
