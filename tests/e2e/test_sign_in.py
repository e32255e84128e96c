"""Signing in to a server through a whole gateway in its own process, with the test as the person at the browser."""

import json
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.stdio import stdio_client
from tests.e2e.served import DEADLINE, Served, as_stdio, environment, served, warm_pegboard
from tests.providers.mcp.web import Endpoint
from tests.providers.mcp.web import served as web
from tests.servers.guarded import MARK, Guarded

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(180), pytest.mark.slow]


def board(url: str) -> dict[str, object]:
    return {"servers": {"issues": {"url": url, "trust": "open"}}}


def is_in(state: str) -> Any:
    return lambda body: body["servers"][0]["health"]["state"] == state


async def asked_link(gateway: Served) -> str:
    """As an operator asks for one, by the API."""
    address = json.loads((gateway.data_dir / "gateway.json").read_text("utf-8"))
    async with httpx2.AsyncClient(trust_env=False, timeout=DEADLINE) as client:
        answer = await client.post(
            f"{address['url']}/api/v1/servers/issues/sign-in", headers={"authorization": f"Bearer {address['token']}"}
        )
    return str(answer.json()["url"])


async def opened(link: str) -> httpx2.Response:
    """In a browser, through the authorization server's page and back."""
    async with httpx2.AsyncClient(follow_redirects=True, trust_env=False, timeout=DEADLINE) as browser:
        return await browser.get(link)


@asynccontextmanager
async def guarded_board(folder: Path) -> AsyncIterator[tuple[Guarded, Served]]:
    guard = Guarded(Endpoint())
    with anyio.fail_after(150):
        async with web(guard) as http, served(folder, board(http.url)) as gateway:
            yield guard, gateway


def holding(folder: Path, text: bytes) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and text in path.read_bytes()]


@pytest.mark.behaviour("mcp.in.sign_in", "mcp.in.sign_in_renewed", "mcp.in.sign_in_lost", "secrets.tokens_unseen")
async def test_from_a_link_to_tools_to_a_renewal_to_the_next_link(tmp_path: Path) -> None:
    async with guarded_board(tmp_path) as (guard, gateway):
        body = await gateway.until("/servers", holds=is_in("needs_sign_in"))
        link = await asked_link(gateway)
        assert link.startswith(f"{gateway.endpoint.removesuffix('/mcp')}/sign-in/")
        words = [*warm_pegboard(), "servers", "list", "--data-dir", str(gateway.data_dir)]
        listed = (await anyio.run_process(words, env=environment(gateway.data_dir))).stdout.decode()
        (line,) = [line for line in listed.splitlines() if line.startswith("issues~issues")]
        assert line.split()[1] == "needs_sign_in"
        assert line.endswith("pegboard servers sign-in issues~issues")
        _, doctor = await gateway.pegboard("doctor")
        (finding,) = [each for each in doctor["findings"] if each["subject"] == "issues~issues"]
        assert finding["fix"] == "pegboard servers sign-in issues~issues"
        _, status = await gateway.pegboard("activity", "list")
        assert [
            text for text in (listed, json.dumps(body), json.dumps(doctor), json.dumps(status)) if link in text
        ] == []

        page = await opened(link)
        assert (page.status_code, "Signed in to issues~issues. You can close this window." in page.text) == (200, True)
        assert (await opened(link)).status_code == 410
        await gateway.until("/servers", holds=is_in("up"))
        async with Client(gateway.endpoint) as client:
            assert not (await client.call_tool("echo", {"a": 1})).is_error
            guard.expire()
            assert not (await client.call_tool("echo", {"a": 2})).is_error
            assert guard.asked == ["register", "authorization_code", "refresh_token"]
            guard.revoke()
            assert (await client.call_tool("echo", {"a": 3})).is_error
            body = await gateway.until("/servers", holds=is_in("needs_sign_in"))
            why = await gateway.ask("/why?tool=echo")
            command = "sign in: pegboard servers sign-in issues~issues"
            assert (why["status"], why["remedy"]) == ("server_unavailable", f"S{command[1:]}")
            refused = await client.call_tool("echo", {"a": 4})
            assert refused.is_error
            told = refused.content[0].text  # type: ignore[union-attr]
            # Whoever follows a link signs in for everybody, so no caller is told one.
            assert (f"Ask the user to {command}" in told, "/sign-in/" in told) == (True, False)

        told = [json.dumps(answer) for answer in (body, doctor, why)] + [page.text]
        assert [text for text in told if MARK in text] == []
        assert await anyio.to_thread.run_sync(holding, gateway.data_dir, MARK.encode()) == []
        assert (gateway.data_dir / "secret.key").stat().st_mode & 0o777 == 0o600


@pytest.mark.behaviour("mcp.in.sign_in", "mcp.in.sign_out")
async def test_the_command_waits_for_the_person_and_the_other_one_signs_out(tmp_path: Path) -> None:
    async with guarded_board(tmp_path) as (guard, gateway):
        await gateway.until("/servers", holds=is_in("needs_sign_in"))
        words = [*warm_pegboard(), "servers", "sign-in", "issues", "--data-dir", str(gateway.data_dir)]
        assert await followed(words, gateway.data_dir) == "Signed in to issues~issues. It is up: 1 callable."
        code, out = await gateway.pegboard("servers", "sign-out", "issues")
        assert (code, out) == (0, {"id": "issues~issues", "signedIn": False, "revoked": True})
        await gateway.until("/servers", holds=is_in("needs_sign_in"))
        assert guard.asked[-1] == "revoke"
        words = [*warm_pegboard(), "servers", "sign-out", "issues", "--data-dir", str(gateway.data_dir)]
        again = await anyio.run_process(words, env=environment(gateway.data_dir))
        assert again.stdout.decode() == "Nobody was signed in to issues~issues.\n"


@pytest.mark.behaviour("cli.not_up_is_a_failure")
async def test_a_sign_in_that_the_server_does_not_take_is_a_failure(tmp_path: Path) -> None:
    async with guarded_board(tmp_path) as (guard, gateway):
        await gateway.until("/servers", holds=is_in("needs_sign_in"))
        guard.rejects = True
        words = [*warm_pegboard(), "servers", "sign-in", "issues", "--data-dir", str(gateway.data_dir)]
        last = await followed(words, gateway.data_dir, code=1)
        assert last == "It needs a sign-in: pegboard servers sign-in issues~issues"


@pytest.mark.behaviour("mcp.in.sign_in_link")
@pytest.mark.parametrize(
    ("headers", "status"), [({"host": "evil.example"}, 421), ({"origin": "https://evil.example"}, 403)]
)
async def test_another_host_or_origin_reaches_no_page(tmp_path: Path, headers: dict[str, str], status: int) -> None:
    async with guarded_board(tmp_path) as (_, gateway):
        await gateway.until("/servers", holds=is_in("needs_sign_in"))
        link = await asked_link(gateway)
        async with httpx2.AsyncClient(trust_env=False, timeout=DEADLINE) as client:
            assert (await client.get(link, headers=headers)).status_code == status
            back = link.rpartition("/")[0] + "/callback?code=c&state=s"
            assert (await client.get(back, headers=headers)).status_code == status
            assert (await client.get(back)).status_code == 400
        assert (await opened(link)).status_code == 200, "the link was not used up"


@pytest.mark.behaviour("mcp.in.sign_in")
async def test_a_gateway_that_a_client_starts_takes_up_a_sign_in_by_a_command(tmp_path: Path) -> None:
    guard, config, data = Guarded(Endpoint()), tmp_path / "pegboard.yaml", tmp_path / "data"
    data.mkdir()
    with anyio.fail_after(150):
        async with web(guard) as http:
            config.write_text(json.dumps(board(http.url)), "utf-8")
            async with Client(stdio_client(as_stdio(config, data))) as client:
                assert (await client.list_tools()).tools == []
                words = [
                    *warm_pegboard(),
                    "servers",
                    "sign-in",
                    "issues",
                    "--config",
                    str(config),
                    "--data-dir",
                    str(data),
                ]
                assert await followed(words, data) == "Signed in to issues~issues."
                while not (await client.list_tools()).tools:  # noqa: ASYNC110 - it looks at its store now and then
                    await anyio.sleep(0.2)
                assert not (await client.call_tool("echo", {"a": 1})).is_error


async def followed(words: list[str], home: Path, *, code: int = 0) -> str:
    """What a command says last that prints a link and waits, while a person follows the link."""
    async with await anyio.open_process(words, env=environment(home), stderr=subprocess.STDOUT) as process:
        try:
            assert process.stdout is not None
            said = ""
            page = None
            async for chunk in process.stdout:
                said += chunk.decode()
                links = [word for word in said.split() if "/sign-in/" in word]
                if page is None and links and said.endswith("\n"):
                    page = await opened(links[0])
                    assert page.status_code == 200, page.text
            assert await process.wait() == code, said
            return said.strip().splitlines()[-1]
        finally:
            if process.returncode is None:
                process.kill()
