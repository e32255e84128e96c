"""A gateway with its pages as people run it: `pegboard serve` in a process of its own, on a free port."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.cookies import SimpleCookie
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import HTTPRedirectHandler, Request, build_opener, urlopen

import yaml
from playwright.sync_api import APIResponse, BrowserContext, Page, Route
from tests.e2e.served import DEMO, ROOT, environment, warm_pegboard
from tests.support.fork_server import python

DEADLINE = 60.0
BUILD = ROOT / "web" / "build.py"


def build(*words: str) -> None:
    """The pages as the sources say, or the tests that need no browser; nothing is done where they are current."""
    done = subprocess.run([sys.executable, str(BUILD), *words], capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"


class _NoRedirect(HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:
        return None


@dataclass(frozen=True)
class Site:
    """`token` is the start-up token: whoever has it may do everything."""

    address: str
    token: str
    config: Path
    data_dir: Path
    process: "subprocess.Popen[bytes]"

    @property
    def entrance(self) -> str:
        """As `pegboard ui` prints it: it signs in, once."""
        return f"{self.address}{self.ask('POST', '/session/link')['path']}"

    def sign_in_with_cookie(self, context: BrowserContext) -> None:
        """As the printed address does, without loading a page."""
        asked = Request(self.entrance, headers={"accept": "text/html"})
        try:
            answer = build_opener(_NoRedirect).open(asked, timeout=DEADLINE)
        except HTTPError as redirect:
            answer = redirect
        with answer:
            (cookie,) = SimpleCookie(answer.headers["set-cookie"]).values()
        context.clear_cookies()
        context.add_cookies([{"name": cookie.key, "value": cookie.value, "url": self.address}])

    def sign_in(self, page: Page, token: str) -> None:
        """As whoever has this token: tokens go into the form."""
        page.goto(f"{self.address}/ui/sign-in")
        page.get_by_label("Token").fill(token)
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url("**/ui/")

    def ask(
        self, method: str, path: str, body: object = None, *, version: int | None = None, token: str | None = None
    ) -> Any:
        """One request to the API, by the operator where no other token is given; the body of the answer, whatever its
        status."""
        headers = {"authorization": f"Bearer {token or self.token}", "content-type": "application/json"}
        if version is not None:
            headers["if-match"] = f'"{version}"'
        sent = None if body is None else json.dumps(body).encode()
        request = Request(f"{self.address}/api/v1{path}", data=sent, headers=headers, method=method)
        try:
            with urlopen(request, timeout=DEADLINE) as answer:
                return json.loads(answer.read() or b"null")
        except HTTPError as error:
            return json.loads(error.read())

    def settle(self) -> None:
        """Until no server starts for the first time any more: what the pages show then stays."""
        until = time.monotonic() + DEADLINE
        while starting := self.ask("GET", "/status")["starting"]:
            assert time.monotonic() < until, f"these servers do not come up: {starting}"
            time.sleep(0.1)

    def wait_for_first_sight(self, tool: str) -> None:
        """Until the tool has its first verdict, which is a decision as others are. Not for servers with trust: open."""
        deadline = time.monotonic() + DEADLINE
        while self.ask("GET", f"/tools/show?tool={tool}").get("approval") is None:
            assert time.monotonic() < deadline, f"nobody saw {tool}"
            time.sleep(0.05)

    def wait_for_definition(self, tool: str, definition: Mapping[str, object]) -> None:
        """Until the gateway has this definition of the tool from its server."""
        deadline = time.monotonic() + DEADLINE
        while (offered := self.ask("GET", f"/tools/show?tool={tool}").get("asOffered", {})) | definition != offered:
            assert time.monotonic() < deadline, f"{tool} is still {offered}"
            time.sleep(0.05)

    def pegboard(self, *words: str) -> Any:
        """One command of a second terminal, asked for JSON."""
        done = subprocess.run(
            [*warm_pegboard(), *words, "--data-dir", str(self.data_dir), "--json"],
            env=environment(self.data_dir),
            capture_output=True,
            timeout=DEADLINE,
        )
        return json.loads(done.stdout)


@contextmanager
def site(folder: Path, board: Mapping[str, object] | Path = DEMO, port: int = 0) -> Iterator[Site]:
    """Listening when the block begins, gone when it has ended. In the same folder it is the same gateway, once more."""
    data_dir = folder / "data"
    data_dir.mkdir(exist_ok=True)
    config = board if isinstance(board, Path) else folder / "pegboard.yaml"
    if not isinstance(board, Path):
        config.write_text(yaml.safe_dump(dict(board)), "utf-8")
    lending = folder / "lending.db"
    subprocess.run([python(), str(DEMO.parent / "lending.py"), str(lending)], check=True, capture_output=True)
    words = ["serve", "--config", str(config), "--data-dir", str(data_dir), "--port", str(port), "--json"]
    with (folder / "log").open("ab") as log:
        process = subprocess.Popen(
            [*warm_pegboard(), *words],
            env={**environment(data_dir), "LENDING_DB": str(lending)},
            stdout=subprocess.PIPE,
            stderr=log,
        )
    try:
        assert process.stdout is not None
        told = _document(process.stdout)
        assert "endpoint" in told, told
        known = json.loads((data_dir / "gateway.json").read_text("utf-8"))
        running = Site(told["endpoint"].removesuffix("/mcp"), known["token"], config, data_dir, process)
        running.settle()
        yield running
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(DEADLINE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()


def hold_answer(page: Page, path: str) -> list[tuple[Route, APIResponse]]:
    """The gateway carries out what is sent to this path, and the page has no answer before the test fulfills it."""
    held: list[tuple[Route, APIResponse]] = []
    page.route(f"**/api/v1{path}", lambda route: held.append((route, route.fetch())))
    return held


def _document(stdout: Any) -> Any:
    text = b""
    while line := stdout.readline():
        text += line
        try:
            return json.loads(text)
        except ValueError:
            continue
    raise AssertionError(f"the gateway ended before it listened: {text.decode(errors='replace')}")
