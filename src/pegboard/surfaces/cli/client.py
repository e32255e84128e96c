"""The API as a client sees it: requests to a gateway that runs on this data directory, or to one in this process."""

import json
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import anyio
import httpx2

from pegboard import __version__
from pegboard.config import places

from .link import Answer, Body, Download, Options, Params, Starts
from .output import Exit, fail, tell
from .waiting import told_when_slow

ANSWERS_WITHIN: Final = 15.0
"""Seconds. A gateway that is well tells its status in milliseconds, the first time in half a second of computing; on a
busy machine both take many times as long, and neither hangs."""
_WORRIES: Final = 5.0
"""Seconds after which a person may wonder about it."""
STARTS_WITHIN: Final = 20.0
SETTLES_WITHIN: Final = 40
"""Seconds: a little over the usual deadline of a server's start."""
_ASK_AGAIN: Final = 0.1
_PATIENCE: Final = httpx2.Timeout(90, connect=ANSWERS_WITHIN)
_OPEN_END: Final = httpx2.Timeout(None, connect=ANSWERS_WITHIN)
_LONG: Final = frozenset({"/call", "/toolsets/import"})
"""A call has its deadline in the gateway, where its server's settings are known; an import tells how far it is."""


class HttpApi:
    def __init__(self, client: httpx2.AsyncClient, where: str, *, running: bool) -> None:
        self._client = client
        self._where = where
        self.running = running

    async def request(
        self, method: str, path: str, *, params: Params = (), body: Mapping[str, object] | None = None
    ) -> Answer:
        response = await self._sent(method, path, params, body)
        return Answer(response.status_code, self._body(response))

    async def download(self, path: str) -> Download | Answer:
        response = await self._sent("GET", path, (), None)
        if response.status_code != 200:
            return Answer(response.status_code, self._body(response))
        return Download(response.content, {name.lower(): value for name, value in response.headers.items()})

    async def _sent(self, method: str, path: str, params: Params, body: Mapping[str, object] | None) -> httpx2.Response:
        content = None if body is None else json.dumps(body).encode()
        headers = {} if body is None else {"content-type": "application/json"}
        try:
            return await self._client.request(
                method,
                f"/api/v1{path}",
                params=list(params),
                content=content,
                headers=headers,
                timeout=_OPEN_END if path in _LONG else _PATIENCE,
            )
        except httpx2.TransportError as error:
            why = str(error).strip() or type(error).__name__
            what = "What you asked for may have been done: look before you repeat it." if method != "GET" else ""
            fail(Exit.UNREACHABLE, f"{self._where} broke off: {why}. {what}".rstrip())

    async def told(self, path: str, body: Mapping[str, object], each: Callable[[Body], None]) -> Answer:
        """A request that is answered line by line: `each` is told of those before the last, which is the answer."""
        request = self._client.build_request(
            "POST",
            f"/api/v1{path}",
            content=json.dumps(body).encode(),
            headers={"content-type": "application/json", "accept": "application/x-ndjson"},
            timeout=_OPEN_END,
        )
        try:
            response = await self._client.send(request, stream=True)
            try:
                if response.headers.get("content-type") != "application/x-ndjson":
                    await response.aread()
                    return Answer(response.status_code, self._body(response))
                last: Body | None = None
                async for line in response.aiter_lines():
                    if last is not None:
                        each(last)
                    last = json.loads(line)
            finally:
                await response.aclose()
        except httpx2.TransportError as error:
            why = str(error).strip() or type(error).__name__
            fail(Exit.UNREACHABLE, f"{self._where} broke off: {why}. Look at what was done before you repeat it.")
        if last is None or "ended" not in last:
            fail(Exit.UNREACHABLE, f"{self._where} broke off. Look at what was done before you repeat it.")
        return Answer(response.status_code, last)

    @asynccontextmanager
    async def stream(self, path: str, body: Mapping[str, object], token: str) -> AsyncIterator[httpx2.Response]:
        """A request of a caller's own, outside the operator's API: with the caller's token, or with none."""
        request = self._client.build_request(
            "POST",
            path,
            content=json.dumps(body).encode(),
            headers={"content-type": "application/json", "user-agent": f"pegboard/{__version__}"},
            timeout=_OPEN_END,
        )
        del request.headers["authorization"]
        if token:
            request.headers["authorization"] = f"Bearer {token}"
        try:
            response = await self._client.send(request, stream=True)
            try:
                yield response
            finally:
                await response.aclose()
        except httpx2.TransportError as error:
            why = str(error).strip() or type(error).__name__
            fail(Exit.UNREACHABLE, f"{self._where} broke off: {why}.")

    def _body(self, response: httpx2.Response) -> dict[str, Any]:
        if response.status_code == httpx2.codes.NO_CONTENT:
            return {}
        try:
            body = response.json()
        except ValueError:
            body = None
        if not isinstance(body, dict):
            told = f"{self._where} answered with HTTP {response.status_code} and no JSON."
            fail(Exit.UNREACHABLE, f"{told} Is another program at that address? See: pegboard doctor")
        return body


@asynccontextmanager
async def running_gateway(options: Options, starts: Starts) -> AsyncIterator[HttpApi | None]:
    """`None` when none runs on this data directory, or it serves another configuration than the one that was named.

    Servers that the command needs and that are just starting are waited for, as if the command had started them.
    """
    directory = places.data_directory(options.data_dir, os.environ)
    # Whatever a killed gateway left behind, only a living one holds the lock: nobody else is sent a token.
    if not places.is_held(directory):
        yield None
        return
    address = await _address(directory)
    # The address is one of this machine without TLS, written by the gateway itself: no certificates and no proxies.
    async with httpx2.AsyncClient(
        base_url=address.url,
        headers={"authorization": f"Bearer {address.token}"},
        timeout=_PATIENCE,
        verify=False,
        trust_env=False,
    ) as client:
        api = HttpApi(client, f"the gateway at {address.url}", running=True)
        status = await _status(api, address, directory)
        if not _is_meant(options, status):
            yield None
            return
        needed = [key for key in status.get("starting", []) if starts(key, key.partition("~")[2])]
        with told_when_slow(", ".join(needed)):
            for key in needed:
                await api.request("GET", f"/servers/{key}", params=[("settle", str(SETTLES_WITHIN))])
        yield api


async def _address(directory: Path) -> places.Address:
    """A gateway that is still starting has the lock already and tells its address when it listens."""
    address = places.read_address(directory)
    if isinstance(address, places.Unusable):
        tell("  … a gateway is starting here; waiting for it")
        with anyio.move_on_after(STARTS_WITHIN):
            while isinstance(address, places.Unusable):
                await anyio.sleep(_ASK_AGAIN)
                address = places.read_address(directory)
    if isinstance(address, places.Unusable):
        fail(
            Exit.UNREACHABLE,
            f"a gateway runs with the data directory {directory}, but {address.why}. "
            "End that gateway and start it again: pegboard serve",
        )
    return address


async def _status(api: HttpApi, address: places.Address, directory: Path) -> dict[str, Any]:
    with anyio.move_on_after(ANSWERS_WITHIN), told_when_slow(f"the gateway at {address.url}", after=_WORRIES):
        answer = await api.request("GET", "/status")
        if answer.status == 200:
            return answer.body
        why = f"does not take the token in {directory / places.ADDRESS}"
        if answer.status not in (401, 403):
            why = "cannot say what runs; its log says why"
        fail(
            Exit.UNREACHABLE,
            f"the gateway at {address.url} {why} (HTTP {answer.status}). End the process {address.pid} and start it "
            "again: pegboard serve",
        )
    fail(
        Exit.UNREACHABLE,
        f"the gateway at {address.url} does not answer. Look at the process {address.pid}; if it hangs, "
        f"end it and start it again: kill {address.pid}; pegboard serve",
    )


def _is_meant(options: Options, status: Mapping[str, Any]) -> bool:
    there = status.get("config")
    if (version := status.get("version")) != __version__:
        tell(f"! The gateway is Pegboard {version}, and this command is {__version__}. Start the gateway again.")
    if options.config is not None:
        if _is_same(options.config, there):
            return True
        tell(
            f"! The gateway on this data directory serves {there or 'no file'}. This is {options.config}, by itself; "
            "give it a data directory of its own: --data-dir"
        )
        return False
    usual = places.config_file(None, os.environ)
    if usual is not None and not _is_same(usual, there):
        tell(f"! The running gateway serves {there or 'no file'}, not {usual}. To ask about that one: --config {usual}")
    return True


def _is_same(file: Path, there: object) -> bool:
    return isinstance(there, str) and os.path.realpath(file) == os.path.realpath(there)
