"""The four toolsets at work against a web server of the test's own: run, called, and closed."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import anyio
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from pegboard.core.calls.call import AdmittedCall, ToolCall, ToolFailure, ToolSuccess
from pegboard.core.calls.caller_credentials import ApiAccess, ApiKey
from pegboard.core.json.values import Json
from pegboard.core.model.catalogue import ProviderStart
from pegboard.core.model.ids import LOCAL_PRINCIPAL, CallId, ToolsetId, ToolsetKey, WireName
from pegboard.core.model.web_api import ApiMisconfiguration, CallerCredentialRules
from pegboard.ports.providers import Progress, Provider
from pegboard.providers.docspace import docspace_tools
from pegboard.providers.docspace.limits import DocSpaceLimits
from pegboard.providers.docspace.provider import TOOLSETS, DocSpaceContext

PATIENCE = 40
"""Seconds until a test gives up. Far more than anything here takes, because the machine may be busy."""
NOW = datetime(2026, 1, 2, 3, 4, 5, 678_901, tzinfo=UTC)
QUICK = DocSpaceLimits(retry_pause_s=0.001)


def clock() -> datetime:
    return NOW


@dataclass
class Wall:
    """The four toolsets, by the names of their tools."""

    providers: Mapping[str, Provider]

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Json] | None = None,
        headers: Mapping[bytes, bytes] | None = None,
        progress: Progress | None = None,
    ) -> dict[str, Any]:
        """The result object."""
        provider = self.providers[name]
        tool = next(tool for tool in provider.listing().tools if tool.id.name == name)
        call = ToolCall(CallId("1"), WireName(name), dict(arguments or {}), LOCAL_PRINCIPAL, NOW, headers=headers or {})
        outcome = await provider.call(AdmittedCall(call, tool), progress)
        assert isinstance(outcome, ToolSuccess | ToolFailure)
        result: dict[str, Any] = json.loads(outcome.body)
        assert result.get("isError", False) is isinstance(outcome, ToolFailure)
        return result

    async def text(
        self, name: str, arguments: Mapping[str, Json] | None = None, progress: Progress | None = None
    ) -> str:
        [content] = (await self.call(name, arguments, progress=progress))["content"]
        return str(content["text"])


@asynccontextmanager
async def hung_up(
    operator: ApiAccess | ApiMisconfiguration | None,
    *,
    lends: CallerCredentialRules | None = None,
    limits: DocSpaceLimits = QUICK,
    named: tuple[str, ...] = (),
) -> AsyncIterator[Wall]:
    hall = DocSpaceContext(lambda: operator, clock, lends=lends, limits=limits, named=lambda: named)
    providers = [docspace_tools(ToolsetKey(ToolsetId(name)), name, hall, clock) for name in TOOLSETS]
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            rung = anyio.Event()

            def ring() -> None:
                if not any(isinstance(one.listing().health, ProviderStart) for one in providers):
                    rung.set()

            for provider in providers:
                tasks.start_soon(provider.run, ring)
            await rung.wait()
            yield Wall({tool.id.name: one for one in providers for tool in one.listing().tools})
            tasks.cancel_scope.cancel()


def ada(url: str) -> ApiAccess:
    return ApiAccess(url, ApiKey("sk-ada"))


@dataclass
class Script:
    """A web server that answers with what it was given, one after the other, and remembers what it was asked."""

    answers: list[Response] = field(default_factory=list[Response])
    asked: list[tuple[str, str, dict[str, str], bytes]] = field(default_factory=list)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        query = scope["query_string"].decode()
        line = f"{scope['path']}?{query}" if query else scope["path"]
        self.asked.append((request.method, line, dict(request.headers), await request.body()))
        await self.answers[len(self.asked) - 1](scope, receive, send)

    @property
    def lines(self) -> list[str]:
        return [f"{method} {line}" for method, line, _, _ in self.asked]


def enveloped(response: Any, **more: Any) -> JSONResponse:
    return JSONResponse({"response": response, "status": 0, "statusCode": 200, "links": [], **more})


class Cut(Response):
    """An answer that breaks off before its end."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"9")]})
        await send({"type": "http.response.body", "body": b"{", "more_body": False})
