"""The one address: printed when the gateway listens, printed again on request, and it works at once."""

import json
import signal
import stat
import sys
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.surfaces.cli.terminal import Gateway, Pegboard, board, ended, program, started

BOARD: dict[str, Any] = {"servers": {}}


@pytest.mark.behaviour("ui.one_address")
def test_the_address_that_serve_prints_signs_a_browser_in(home: Path) -> None:
    board(home / "pegboard.yaml", {})
    with started(home, "serve", "--port", "0") as process:
        assert process.stderr is not None
        told = []
        while (line := process.stderr.readline().rstrip("\n")) != "Ctrl-C ends it.":
            told.append(line)
        (address,) = [line.split()[-1] for line in told if line.startswith("Open")]
        with httpx2.Client(trust_env=False, timeout=60) as browser:
            first = browser.get(address)
            assert (first.status_code, first.headers["location"]) == (303, "/ui/")
            page = browser.get(str(first.next_request.url)) if first.next_request else None
            assert page is not None
            assert page.status_code == 200
            session = browser.get(f"{page.url.scheme}://{page.url.netloc.decode()}/api/v1/session")
            assert session.json()["scopes"] == ["read", "call", "operate", "admin"]
            browser.cookies.clear()
            assert browser.get(address).headers["location"] == "/ui/sign-in?used"
        done = ended(process, signal.SIGINT)
    assert done.code == 0
    assert sum(address.partition("login=")[2] in line for line in told) == 1


@pytest.mark.behaviour("ui.one_address")
def test_the_address_of_a_running_gateway_is_told_again(gateway: Gateway, at_gateway: Pegboard) -> None:
    address = json.loads((gateway.data_dir / "gateway.json").read_text())
    done = at_gateway("ui")
    assert (done.code, done.out.startswith(f"{address['url']}/ui/?login="), done.err) == (0, True, "")
    assert address["token"] not in done.out
    assert at_gateway("ui", "--json").json["url"] != done.out.strip(), "each signs in once"
    with httpx2.Client(trust_env=False, timeout=60) as browser:
        assert browser.get(done.out.strip()).headers["location"] == "/ui/"
        browser.cookies.clear()
        assert browser.get(done.out.strip()).headers["location"] == "/ui/sign-in?used"


def test_a_browser_is_opened_without_the_token_on_its_command_line(gateway: Gateway, tmp_path: Path) -> None:
    seen, browser = tmp_path / "seen", tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$@" > {seen}\n')
    browser.chmod(0o755)
    done = program(tmp_path, "ui", "--open", "--data-dir", gateway.data_dir, BROWSER=f"{browser} %s")
    assert done.code == 0, done.err
    file = gateway.data_dir / "open.html"
    assert seen.read_text() == f"{file.as_uri()}\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert done.out.strip() in file.read_text()


def test_without_a_gateway_there_is_no_address(home: Path) -> None:
    done = program(home, "ui", "--data-dir", "data")
    assert (done.code, done.out) == (6, "")
    assert "no gateway runs with the data directory" in done.err
    assert "Start one: pegboard serve" in done.err


def _session(home: Path, port: str, cookie: str | None, end: signal.Signals) -> tuple[int, str, str]:
    """One run of a gateway: what it says to a browser with this cookie, or that signs in; the cookie; the port."""
    # Only of a fresh process it is known when SIGKILL has ended it.
    python = sys.executable if end is signal.SIGKILL else None
    with started(home, "serve", "--port", port, "--json", "--data-dir", "data", python=python) as process:
        assert process.stdout is not None
        address = json.loads(process.stdout.readline())["ui"]
        token = json.loads((home / "data" / "gateway.json").read_text())["token"]
        with httpx2.Client(trust_env=False, timeout=60) as browser:
            if cookie is None:
                bearer = {"authorization": f"Bearer {token}"}
                root = address.removesuffix("/ui/")
                link = browser.post(f"{root}/api/v1/session/link", headers=bearer).json()["path"]
                line = browser.get(f"{root}{link}").headers["set-cookie"]
                cookie = line.partition(";")[0]
            asked = browser.get(address.replace("/ui/", "/api/v1/session"), headers={"cookie": cookie})
        ended(process, end)
    return asked.status_code, cookie, address.rpartition(":")[2].removesuffix("/ui/")


@pytest.mark.behaviour("access.sessions_outlast", "access.sign_out_all")
def test_a_browser_stays_signed_in_over_restarts_until_every_browser_is_signed_out(home: Path) -> None:
    board(home / "pegboard.yaml", {})
    status, cookie, port = _session(home, "0", None, signal.SIGTERM)
    assert status == 200
    assert _session(home, port, cookie, signal.SIGKILL) == (200, cookie, port)
    assert _session(home, port, cookie, signal.SIGTERM) == (200, cookie, port)
    secret = cookie.partition("=")[2].encode()
    assert [file.name for file in (home / "data").iterdir() if file.is_file() and secret in file.read_bytes()] == []
    done = program(home, "tokens", "sign-out", "--data-dir", "data")
    assert (done.code, done.out) == (0, "Every browser is signed out. To sign in again: pegboard ui\n"), done.err
    assert _session(home, port, cookie, signal.SIGTERM) == (401, cookie, port)
