"""Calling a tool over MCP as a client that keeps no session, told apart from nothing: the answer, or that none came."""

import json
from typing import Any, Final

import anyio
import httpx2

from benchmarks.gateway.wire import ENVELOPE, Era, answer_in

from .answering import Scene
from .recordings import HANG, Result

PATIENCE: Final = 120.0


class GatewayError(Exception):
    """The gateway could not be asked; the message says why."""


def client_of(endpoint: str) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(base_url=endpoint, timeout=httpx2.Timeout(PATIENCE), trust_env=False, verify=False)


async def call(client: httpx2.AsyncClient, name: str, arguments: Any) -> Result:
    """`arguments` of None are left out of the request altogether."""
    params: dict[str, Any] = {"name": name, "_meta": ENVELOPE}
    if arguments is not None:
        params["arguments"] = arguments
    headers = {
        "accept": "application/json, text/event-stream",
        "content-type": "application/json",
        "mcp-protocol-version": Era.STATELESS.value,
        "mcp-method": "tools/call",
        "mcp-name": name,
    }
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
    try:
        response = await client.post("", content=body, headers=headers)
        return result_of(answer_in(response.content, response.headers.get("content-type", "")))
    except (httpx2.HTTPError, ValueError) as error:
        raise GatewayError(f"the gateway gave no answer to a call of {name}: {error!r}") from error


def result_of(answer: dict[str, Any]) -> Result:
    """A protocol error is told as an error too, with its code in front: no recorded text begins so."""
    if "error" in answer:
        return Result((f"JSON-RPC {answer['error'].get('code')}: {answer['error'].get('message')}",), None, True)
    result = answer["result"]
    texts = tuple(
        each["text"] if each.get("type") == "text" else json.dumps(each, sort_keys=True)
        for each in result.get("content", [])
    )
    return Result(texts, result.get("structuredContent"), result.get("isError") is True)


async def play(client: httpx2.AsyncClient, scene: Scene) -> Result | None:
    """A call that was recorded to be given up is given up here too, once the API has the request."""
    recording = scene.recording
    given_up = HANG in recording.responses and recording.result is None
    answered: list[Result] = []

    async def ask() -> None:
        try:
            answered.append(await call(client, recording.tool, recording.arguments))
        finally:
            scene.hanging.set()

    with anyio.fail_after(PATIENCE):
        if not given_up:
            await ask()
            return answered[0]
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            await scene.hanging.wait()
            tasks.cancel_scope.cancel()
        if answered:
            return answered[0]
        # Hung up on, the gateway hangs up in turn: a call that goes on at the API would be a discrepancy by itself.
        await scene.hung_up.wait()
    return None
