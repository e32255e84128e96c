"""Secrets in files of their own that change while the gateway runs."""

import signal
from pathlib import Path

import httpx2
import pytest
from tests.surfaces.cli.terminal import PATIENCE, Pegboard, board, ended, peer, serving

FIRST, SECOND = "first-secret-of-good-length", "second-secret-of-good-length"
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {}}


def status(url: str, token: str) -> int:
    headers = {"authorization": f"Bearer {token}", "accept": "application/json, text/event-stream"}
    return httpx2.post(url, json=PING, headers=headers, timeout=PATIENCE).status_code


@pytest.mark.slow
@pytest.mark.behaviour("config.referenced_files_followed")
def test_a_new_secret_in_a_file_counts_without_an_edit_of_the_settings_and_is_never_told(
    pegboard: Pegboard, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PEGBOARD_DATA_DIR", str(home / "data"))
    secret, token = home / "secret.txt", home / "alice.token"
    secret.write_text(FIRST)
    token.write_text(FIRST)
    servers = {
        "one": peer("everyday", trust="open", env={"PEG_SECRET": "${file:secret.txt}"}),
        "two": peer("many", "1", trust="open"),
    }
    config = board(home / "board.yaml", servers, principals={"alice": {"token": "${file:alice.token}"}})

    def told() -> str:
        return pegboard("tools", "call", "mcp:one~one:env", "--arg", "name=PEG_SECRET").out

    def since() -> str:
        body = pegboard("servers", "list", "--json").json
        return str(next(row["health"]["since"] for row in body["servers"] if row["id"] == "two~two"))

    with serving(home, config, home / "data") as gateway:
        url = gateway.url if gateway.url.endswith("/mcp") else f"{gateway.url}/mcp"
        assert FIRST in told()
        before = since()
        assert status(url, FIRST) != 401

        token.write_text(SECOND)
        # Who asks again and again with a token that is not known yet is soon refused for that alone.
        while status(url, FIRST) != 401:
            pass
        assert status(url, SECOND) != 401
        first = told()

        secret.write_text(SECOND)
        while told() == first:
            pass
        assert SECOND in told()
        assert since() == before, "a server that uses no changed file keeps its connection"
        activity = pegboard("activity", "list", "--json").out
        log = ended(gateway.process, signal.SIGTERM).err
    assert "alice.token changed, to which board.yaml refers" in log
    assert "secret.txt changed, to which board.yaml refers; started anew: one~one" in log
    assert FIRST not in log + activity
    assert SECOND not in log + activity
    assert "Traceback" not in log
