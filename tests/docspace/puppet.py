"""An MCP endpoint that does what it is told: it makes the recorded requests itself and answers as recorded.

What the replay says of it shows whether the replay can be believed.
"""

import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

import httpx2
from benchmarks.docspace_replay.addresses import Addresses, environment_of, origin_of, primary_of
from benchmarks.docspace_replay.recordings import Recording, Request, Result
from starlette.requests import Request as Incoming
from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send
from tests.docspace.stand_in import listening

Turn = Callable[[Recording], Recording]
"""What the puppet does instead of what was recorded."""


@dataclass
class Puppet:
    recordings: Sequence[Recording]
    variables: Mapping[str, str]
    turn: Turn
    client: httpx2.AsyncClient
    recorded: str
    """Where the API was."""
    played: int = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        message = json.loads(await Incoming(scope, receive).body())
        params = message["params"]
        recording = next(
            each
            for each in self.recordings[self.played :]
            if each.tool == params["name"] and each.arguments == params.get("arguments")
        )
        self.played = self.recordings.index(recording) + 1
        recording = self.turn(recording)
        for request in recording.requests:
            await self._make(request)
        assert recording.result is not None
        answer = {"jsonrpc": "2.0", "id": message["id"], "result": self._told(recording.result)}
        await JSONResponse(answer)(scope, receive, send)

    async def _make(self, request: Request) -> None:
        base = urlsplit(self.variables["DOCSPACE_BASE_URL"])
        url = f"{base.scheme}://{base.netloc}{request.path}{'?' if request.query else ''}{request.query}"
        body = request.body.encode() if isinstance(request.body, str) else request.body
        built = self.client.build_request(request.method, url, content=body)
        built.headers = httpx2.Headers(
            {"host": base.netloc, **request.headers, "content-length": str(len(body or b""))}
        )
        await self.client.send(built)

    def _told(self, result: Result) -> dict[str, Any]:
        """The recorded addresses as they are now, since a gateway would tell of where it went."""
        recorded, now = self.recorded, origin_of(self.variables["DOCSPACE_BASE_URL"]) or self.recorded
        told: dict[str, Any] = {"content": [{"type": "text", "text": text} for text in result.texts]}
        if result.structured is not None:
            told["structuredContent"] = result.structured
        if result.is_error:
            told["isError"] = True
        text = json.dumps(told).replace(recorded, now)
        found: dict[str, Any] = json.loads(text.replace(urlsplit(recorded).netloc, urlsplit(now).netloc))
        return found


def puppets(recordings: Sequence[Recording], turn: Turn = lambda recording: recording) -> Any:
    @asynccontextmanager
    async def serving(variables: Mapping[str, str]) -> AsyncIterator[str]:
        here = [each for each in recordings if _is_under(each, recordings, variables)]
        base = (here[0].environment or {}).get("DOCSPACE_BASE_URL")
        recorded = primary_of(recordings) if base is None else origin_of(base) or base
        async with (
            httpx2.AsyncClient(trust_env=False, verify=False) as client,
            listening(Puppet(here, variables, turn, client, recorded)) as url,
        ):
            yield f"{url}mcp"

    return serving


def _is_under(recording: Recording, recordings: Sequence[Recording], variables: Mapping[str, str]) -> bool:
    """Whether it was recorded under these variables, wherever the API was then."""
    recorded = environment_of(recording, recordings, Addresses("http://any", {}))
    places = [urlsplit(each["DOCSPACE_BASE_URL"]) for each in (recorded, variables)]
    if (places[0].scheme == "ftp", places[0].path) != (places[1].scheme == "ftp", places[1].path):
        return False
    return {**recorded, "DOCSPACE_BASE_URL": ""} == {**variables, "DOCSPACE_BASE_URL": ""}


def with_request(place: int, **changes: Any) -> Turn:
    """The request at this place made otherwise."""

    def turn(recording: Recording) -> Recording:
        requests = list(recording.requests)
        requests[place] = replace(requests[place], **changes)
        return replace(recording, requests=tuple(requests))

    return turn
