"""A house in which programs run: one server with tools of every kind, a real sandbox and a real store."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
from tests.core.boards import key
from tests.support.doubles import MemoryStore, Providers, ScriptedProvider
from tests.support.house import PATIENCE, House, call_of, declared, opened

from pegboard.core.calls.call import (
    AdmittedCall,
    ConfirmationRefusal,
    MissingConfirmation,
    Outcome,
    ToolFailure,
    ToolSuccess,
)
from pegboard.core.commands.commands import SetOverride
from pegboard.core.json.values import Json
from pegboard.core.model.ids import LOCAL_PRINCIPAL, PrincipalId, ToolId
from pegboard.core.model.selection import View
from pegboard.core.model.settings import CodeSettings, PythonSandbox
from pegboard.core.model.tool import Tool, ToolSpec
from pegboard.core.overrides.model import Override
from pegboard.core.policy.policy import DeclaredSettings
from pegboard.gateway.caller import CallOutcome
from pegboard.gateway.programs.code_mode import ProgramBackend
from pegboard.ports.providers import ClientPeer, Progress
from pegboard.ports.sandbox import Sandbox
from pegboard.providers.sandbox.monty.sandbox import MontySandbox
from pegboard.store.open import Store, open_store
from pegboard.store.secrets import key_of

FILES = key("files~files")
ADD, READ, DELETE, FAIL, HOLD = (ToolId(FILES, name) for name in ("add", "read", "delete", "fail", "hold"))
PATH: dict[str, Json] = {
    "type": "object",
    "properties": {"path": {"type": "string"}},
    "required": ["path"],
    "additionalProperties": False,
}
NUMBERS: dict[str, Json] = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
    "required": ["a", "b"],
}
SUM: dict[str, Json] = {"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"]}
TOOLS = (
    Tool(ADD, ToolSpec("add", description="Adds.", input_schema=NUMBERS, output_schema=SUM)),
    Tool(READ, ToolSpec("read", description="Reads a file.", input_schema=PATH)),
    Tool(DELETE, ToolSpec("delete", description="Deletes a file.", input_schema=PATH)),
    Tool(FAIL, ToolSpec("fail", description="Fails.")),
    Tool(HOLD, ToolSpec("hold", description="Never answers.")),
)
ASKS = SetOverride(Override(FILES.toolset, DELETE, requires_confirmation=True))
KEY = b"the key of this gateway"


def text(said: str) -> ToolSuccess:
    return ToolSuccess(json.dumps({"content": [{"type": "text", "text": said}]}).encode())


def structured(value: Json) -> ToolSuccess:
    return ToolSuccess(json.dumps({"content": [], "structuredContent": value}).encode())


async def _adds(admitted: AdmittedCall, progress: Progress | None) -> Outcome:
    given = admitted.call.arguments
    a, b = given["a"], given["b"]
    assert isinstance(a, int)
    assert isinstance(b, int)
    return structured({"sum": a + b})


async def _reads(admitted: AdmittedCall, progress: Progress | None) -> Outcome:
    return text(f"what is in {admitted.call.arguments['path']}")


async def _deletes(admitted: AdmittedCall, progress: Progress | None) -> Outcome:
    return text(f"{admitted.call.arguments['path']} is gone")


async def _holds(admitted: AdmittedCall, progress: Progress | None) -> Outcome:
    await anyio.sleep_forever()
    raise AssertionError("unreachable")


def prepared(provider: ScriptedProvider) -> None:
    failed = {"content": [{"type": "text", "text": "the disk is full"}], "isError": True}
    provider.answers.update(
        add=_adds, read=_reads, delete=_deletes, hold=_holds, fail=ToolFailure(json.dumps(failed).encode())
    )


@dataclass(frozen=True)
class Place:
    house: House
    store: Store
    folder: Path

    @property
    def files(self) -> ScriptedProvider:
        return self.house.provider(FILES)

    def called(self, tool: str) -> list[Mapping[str, Json]]:
        """The arguments of the calls that reached the server."""
        return [call.call.arguments for call in self.files.calls if call.tool.id.name == tool]

    async def runs(
        self,
        code: str,
        *,
        peer: ClientPeer | None = None,
        progress: Progress | None = None,
        view: View | None = None,
        by: PrincipalId = LOCAL_PRINCIPAL,
        id: str = "run-1",
        **arguments: Json,
    ) -> CallOutcome:
        call = call_of("python_execution", {"code": code, **arguments}, id=id, by=by, client="cli 1")
        return await self.house.gateway.code_mode.run(call, View(by) if view is None else view, progress, peer)

    async def answers(self, code: str, **arguments: Any) -> dict[str, Any]:
        return said(await self.runs(code, **arguments))

    async def decides(self, ticket: str, *, yes: bool = True) -> None:
        desk = self.house.gateway.tickets
        if yes:
            from pegboard.core.calls.tickets import ConsentScope

            assert await desk.allow(ticket, ConsentScope.ONCE, LOCAL_PRINCIPAL) is not None
        else:
            assert await desk.deny(ticket, LOCAL_PRINCIPAL, "not this one") is not None

    async def waits(self, ticket: str, *, by: PrincipalId = LOCAL_PRINCIPAL, client: str = "cli 1") -> CallOutcome:
        """As a caller who asks what became of its ticket."""
        call = call_of("pegboard_ticket", {"ticket": ticket, "wait": 0}, by=by, client=client, id=f"asks {ticket}")
        return await self.house.gateway.caller.call(call, View(by))

    def records(self) -> list[tuple[str, str | None, str]]:
        """Of every call: its name, by which call it was made, and how it ended."""
        return [(record.call.name, record.call.parent, word(record.outcome)) for record in self.house.audit.records]


@asynccontextmanager
async def place(
    folder: Path,
    *,
    settings: CodeSettings | None = None,
    url: str | None = None,
    board: MemoryStore | None = None,
    key: bytes = KEY,
    keeps: bool = True,
    sandboxes: Mapping[PythonSandbox, Sandbox] | None = None,
    tools: tuple[Tool, ...] = TOOLS,
    patience: float = PATIENCE,
) -> AsyncIterator[Place]:
    """`board` is that of another place on the same store; without one, `delete` is made to be confirmed here."""
    providers = Providers({FILES: tools})
    providers.prepare = prepared
    chosen = settings or CodeSettings()
    said_so: DeclaredSettings = replace(declared(FILES), code=chosen)
    monty = MontySandbox(workers=min(chosen.runs + chosen.max_waiting, 4))
    kinds = {PythonSandbox.MONTY: monty, **(sandboxes or {})}
    address = f"sqlite:///{folder / 'store.db'}" if url is None else url
    try:
        async with open_store(address, clock=lambda: datetime.now(UTC), key=key_of({}, folder)) as store:
            means = ProgramBackend(kinds.__getitem__, store.runs if keeps else None, lambda: key)
            async with opened(said_so, providers, store=board, tickets=store.tickets, programs=means) as house:
                if board is None:
                    await house.does(ASKS)
                with anyio.fail_after(patience):
                    yield Place(house, store, folder)
    finally:
        with anyio.CancelScope(shield=True):
            await monty.aclose()


def said(ended: CallOutcome) -> dict[str, Any]:
    """The answer of a program, without the times of its calls. Its text says the same."""
    assert isinstance(ended, ToolSuccess | ToolFailure), ended
    body = json.loads(ended.body)
    answer: dict[str, Any] = body["structuredContent"]
    assert json.loads(body["content"][0]["text"]) == answer
    assert body.get("isError", False) is isinstance(ended, ToolFailure) is (answer["error"] is not None)
    for call in answer["tool_calls"]:
        assert isinstance(call.pop("ms"), int)
    return answer


def ok(result: Json, *calls: str, stdout: str = "") -> dict[str, Any]:
    made = [{"name": f"files.{name}", "ok": True} for name in calls]
    return {"result": result, "stdout": stdout, "truncated": False, "tool_calls": made, "error": None}


def ticket_of(ended: CallOutcome) -> str:
    assert isinstance(ended, ConfirmationRefusal), ended
    assert ended.reason is MissingConfirmation.WAITING
    assert ended.ticket is not None
    return ended.ticket


def words_of(ended: CallOutcome) -> str:
    assert isinstance(ended, ToolFailure), ended
    return str(json.loads(ended.body)["content"][0]["text"])


def word(ended: CallOutcome) -> str:
    return ended.reason.value if isinstance(ended, ConfirmationRefusal) else type(ended).__name__
