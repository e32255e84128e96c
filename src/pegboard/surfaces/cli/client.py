"""The REST API client: over HTTP to a running gateway, or in this process."""

import json
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import anyio
import httpx2

from pegboard import __version__
from pegboard.config import paths
from pegboard.surfaces.cli.api import ApiResponse, Download, JsonBody, Options, Params, ServerFilter
from pegboard.surfaces.cli.output import Exit, fail, print_progress, print_when_slow

if TYPE_CHECKING:
    from starlette.types import ASGIApp

CONNECT_TIMEOUT_S: Final = 15.0
"""Seconds. A gateway that is well tells its status in milliseconds, the first time in half a second of computing; on a
busy machine both take many times as long, and neither hangs."""
_SLOW_NOTICE_S: Final = 5.0
"""Seconds after which a person may wonder about it."""
START_TIMEOUT_S: Final = 20.0
SETTLE_TIMEOUT_S: Final = 40
"""Seconds: a little over the usual deadline of a server's start."""
_POLL_INTERVAL_S: Final = 0.1
_TIMEOUT: Final = httpx2.Timeout(90, connect=CONNECT_TIMEOUT_S)
_NO_READ_TIMEOUT: Final = httpx2.Timeout(None, connect=CONNECT_TIMEOUT_S)
_SLOW_PATHS: Final = frozenset({"/call", "/toolsets/import"})
"""A call has its deadline in the gateway, where its server's settings are known; an import tells how far it is."""


class HttpApiClient:
    def __init__(self, client: httpx2.AsyncClient, where: str, *, is_running: bool) -> None:
        self._client = client
        self._description = where
        self.is_running = is_running

    async def request(
        self, method: str, path: str, *, params: Params = (), body: Mapping[str, object] | None = None
    ) -> ApiResponse:
        response = await self._send(method, path, params, body)
        return ApiResponse(response.status_code, self._json_body(response))

    async def download(self, path: str) -> Download | ApiResponse:
        response = await self._send("GET", path, (), None)
        if response.status_code != 200:
            return ApiResponse(response.status_code, self._json_body(response))
        return Download(response.content, {name.lower(): value for name, value in response.headers.items()})

    async def _send(self, method: str, path: str, params: Params, body: Mapping[str, object] | None) -> httpx2.Response:
        content = None if body is None else json.dumps(body).encode()
        headers = {} if body is None else {"content-type": "application/json"}
        try:
            return await self._client.request(
                method,
                f"/api/v1{path}",
                params=list(params),
                content=content,
                headers=headers,
                timeout=_NO_READ_TIMEOUT if path in _SLOW_PATHS else _TIMEOUT,
            )
        except httpx2.TransportError as error:
            why = str(error).strip() or type(error).__name__
            what = "What you asked for may have been done: look before you repeat it." if method != "GET" else ""
            fail(Exit.UNREACHABLE, f"{self._description} broke off: {why}. {what}".rstrip())

    async def request_lines(
        self, path: str, body: Mapping[str, object], each: Callable[[JsonBody], None]
    ) -> ApiResponse:
        """A request that is answered line by line: `each` is told of those before the last, which is the answer."""
        request = self._client.build_request(
            "POST",
            f"/api/v1{path}",
            content=json.dumps(body).encode(),
            headers={"content-type": "application/json", "accept": "application/x-ndjson"},
            timeout=_NO_READ_TIMEOUT,
        )
        try:
            response = await self._client.send(request, stream=True)
            try:
                if response.headers.get("content-type") != "application/x-ndjson":
                    await response.aread()
                    return ApiResponse(response.status_code, self._json_body(response))
                last: JsonBody | None = None
                async for line in response.aiter_lines():
                    if last is not None:
                        each(last)
                    last = json.loads(line)
            finally:
                await response.aclose()
        except httpx2.TransportError as error:
            why = str(error).strip() or type(error).__name__
            fail(Exit.UNREACHABLE, f"{self._description} broke off: {why}. Look at what was done before you repeat it.")
        if last is None or "outcome" not in last:
            fail(Exit.UNREACHABLE, f"{self._description} broke off. Look at what was done before you repeat it.")
        return ApiResponse(response.status_code, last)

    @asynccontextmanager
    async def stream(self, path: str, body: Mapping[str, object], token: str) -> AsyncIterator[httpx2.Response]:
        """A request of a caller's own, outside the operator's API: with the caller's token, or with none."""
        request = self._client.build_request(
            "POST",
            path,
            content=json.dumps(body).encode(),
            headers={"content-type": "application/json", "user-agent": f"pegboard/{__version__}"},
            timeout=_NO_READ_TIMEOUT,
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
            fail(Exit.UNREACHABLE, f"{self._description} broke off: {why}.")

    def _json_body(self, response: httpx2.Response) -> dict[str, Any]:
        if response.status_code == httpx2.codes.NO_CONTENT:
            return {}
        try:
            body = response.json()
        except ValueError:
            body = None
        if not isinstance(body, dict):
            told = f"{self._description} answered with HTTP {response.status_code} and no JSON."
            fail(Exit.UNREACHABLE, f"{told} Is another program at that address? See: pegboard doctor")
        return body


@asynccontextmanager
async def in_process_client(api: "ASGIApp", token: str) -> AsyncIterator[HttpApiClient]:
    async with httpx2.AsyncClient(
        transport=httpx2.ASGITransport(api, raise_app_exceptions=False),
        base_url="http://127.0.0.1",
        headers={"authorization": f"Bearer {token}"},
        trust_env=False,
    ) as client:
        yield HttpApiClient(client, "the gateway in this process", is_running=False)


@asynccontextmanager
async def running_gateway(options: Options, starts: ServerFilter) -> AsyncIterator[HttpApiClient | None]:
    """`None` when none runs on this data directory, or it serves another configuration than the one that was named.

    Servers that the command needs and that are just starting are waited for, as if the command had started them.
    """
    directory = paths.data_directory(options.data_dir, os.environ)
    # Whatever a killed gateway left behind, only a living one holds the lock: nobody else is sent a token.
    if not paths.is_locked(directory):
        yield None
        return
    address = await _wait_for_address(directory)
    # The address is one of this machine without TLS, written by the gateway itself: no certificates and no proxies.
    async with httpx2.AsyncClient(
        base_url=address.url,
        headers={"authorization": f"Bearer {address.token}"},
        timeout=_TIMEOUT,
        verify=False,
        trust_env=False,
    ) as client:
        api = HttpApiClient(client, f"the gateway at {address.url}", is_running=True)
        status = await _fetch_status(api, address, directory)
        if not _is_requested_gateway(options, status):
            yield None
            return
        needed = [key for key in status.get("starting", []) if starts(key, key.partition("~")[2])]
        with print_when_slow(", ".join(needed)):
            for key in needed:
                await api.request("GET", f"/servers/{key}", params=[("wait", str(SETTLE_TIMEOUT_S))])
        yield api


async def _wait_for_address(directory: Path) -> paths.GatewayAddress:
    """A gateway that is still starting has the lock already and tells its address when it listens."""
    address = paths.read_address(directory)
    if isinstance(address, paths.UnusableAddress):
        print_progress("  … a gateway is starting here; waiting for it")
        with anyio.move_on_after(START_TIMEOUT_S):
            while isinstance(address, paths.UnusableAddress):
                await anyio.sleep(_POLL_INTERVAL_S)
                address = paths.read_address(directory)
    if isinstance(address, paths.UnusableAddress):
        fail(
            Exit.UNREACHABLE,
            f"a gateway runs with the data directory {directory}, but {address.why}. "
            "End that gateway and start it again: pegboard serve",
        )
    return address


async def _fetch_status(api: HttpApiClient, address: paths.GatewayAddress, directory: Path) -> dict[str, Any]:
    with anyio.move_on_after(CONNECT_TIMEOUT_S), print_when_slow(f"the gateway at {address.url}", after=_SLOW_NOTICE_S):
        answer = await api.request("GET", "/status")
        if answer.status == 200:
            return answer.body
        why = f"does not take the token in {directory / paths.ADDRESS_FILE_NAME}"
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


def _is_requested_gateway(options: Options, status: Mapping[str, Any]) -> bool:
    there = status.get("config")
    if (version := status.get("version")) != __version__:
        print_progress(
            f"! The gateway is Pegboard {version}, and this command is {__version__}. Start the gateway again."
        )
    if options.config is not None:
        if _is_same_file(options.config, there):
            return True
        print_progress(
            f"! The gateway on this data directory serves {there or 'no file'}. This is {options.config}, by itself; "
            "give it a data directory of its own: --data-dir"
        )
        return False
    usual = paths.config_file(None, os.environ)
    if usual is not None and not _is_same_file(usual, there):
        print_progress(
            f"! The running gateway serves {there or 'no file'}, not {usual}. To ask about that one: --config {usual}"
        )
    return True


def _is_same_file(file: Path, there: object) -> bool:
    return isinstance(there, str) and os.path.realpath(file) == os.path.realpath(there)
