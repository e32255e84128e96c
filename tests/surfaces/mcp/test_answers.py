"""A tool's answer reaches the client as it was given: nothing of it is dropped, renamed or guessed on the way."""

import json
from typing import Any

import anyio
import httpx2
import pytest
from tests.support.collect_failures import each_case
from tests.surfaces.mcp.bench import tool
from tests.surfaces.mcp.places import DEADLINE, LEGACY, MODES, served
from tests.surfaces.mcp.raw import ask, handshake
from tests.surfaces.mcp.workshop import BENCH, ODD, SHELVES, key, open_workshop

from pegboard.core.calls.call import LockedToolRefusal, ProtocolErrorReply, ProviderFailure, ToolFailure, ToolSuccess
from pegboard.core.decision.status import NoApproval
from pegboard.core.json.values import JsonObject
from pegboard.core.model.ids import ToolId
from pegboard.core.model.selection import View
from pegboard.core.model.tool import ToolSpec
from pegboard.surfaces.mcp.fast.messages import ResultEncoder
from pegboard.surfaces.mcp.presentations.direct import DirectPresentation, ToolList
from pegboard.surfaces.mcp.results import result_of, with_envelope

pytestmark = pytest.mark.anyio
SERVER_INFO = "io.modelcontextprotocol/serverInfo"


async def called(http: httpx2.AsyncClient, url: str, mode: str, name: str, **arguments: Any) -> Any:
    """The answer to one call as it stands on the wire."""
    if mode != LEGACY:
        return (await ask(http, url, "tools/call", name=name, arguments=arguments)).json()
    session = await handshake(http, url)
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
    return (await http.post(url, json=message, headers=session)).json()


@pytest.mark.parametrize("mode", MODES)
async def test_members_that_no_protocol_knows_come_through(mode: str) -> None:
    with anyio.fail_after(DEADLINE):
        async with open_workshop() as workshop, served(workshop) as url, httpx2.AsyncClient(timeout=DEADLINE) as http:
            result = (await called(http, url, mode, "odd"))["result"]
    if mode != LEGACY:
        assert result.pop("resultType") == "complete"
        assert result["_meta"].pop(SERVER_INFO)["name"] == "pegboard"
    assert result == json.loads(ODD)


def test_an_answer_of_another_era_is_put_into_the_envelope_of_this_one() -> None:
    stamp = {"name": "pegboard", "version": "1"}
    envelope: dict[str, Any] = {
        "content": [],
        "isError": False,
        "resultType": "complete",
        "_meta": {SERVER_INFO: stamp},
    }
    old: dict[str, Any] = {"content": []}
    new: dict[str, Any] = {**old, "resultType": "complete", "_meta": {SERVER_INFO: {"name": "up"}, "a": 1}}
    assert with_envelope(old, envelope) == {"content": [], "resultType": "complete", "_meta": {SERVER_INFO: stamp}}
    # A server that says who it is has answered; the gateway only carried it.
    assert with_envelope(new, envelope) == new
    assert with_envelope({"resultType": "input_required"}, envelope)["resultType"] == "input_required"
    assert with_envelope(old, {"content": [], "isError": False}) == old
    assert with_envelope({"content": [], "resultType": "complete"}, {"content": []}) == old


@each_case("body", [b"", b"[]", b"\xff\xfe", b'{"content":' + b"[" * 1000 + b"]" * 1000 + b"}"])
def test_an_answer_that_cannot_be_passed_on_is_an_error_that_says_the_call_ran(body: bytes) -> None:
    for ended in (ToolSuccess(body), ToolFailure(body)):
        result = result_of("saw", ended)
        assert result["isError"] is True
        told = json.dumps(result["content"])
        assert "The call of 'saw' failed: its answer cannot be passed on: " in told
        assert "It may have run all the same" in told


@pytest.mark.behaviour("mcp.in.own_errors")
def test_an_error_of_a_server_is_one_sentence_for_the_model_and_whole_for_its_program() -> None:
    failed = ProviderFailure(
        "s answered with the error -32050: Quota", True, b'{"code":-32050,"message":"Quota","data":[7]}'
    )
    text = (
        "The call of 'saw' failed: s answered with the error -32050: Quota. It may have run all the same: check what "
        "it did before you call it again."
    )
    told: JsonObject = {"content": [{"type": "text", "text": text}], "isError": True}
    own: JsonObject = {"pegboard/error": {"code": -32050, "message": "Quota", "data": [7]}}
    assert result_of("saw", failed) == {**told, "_meta": own}
    envelope = ResultEncoder({"name": "us"})
    assert json.loads(envelope.encode_response(b"1", "saw", failed, modern=False)[1])["result"] == {
        **told,
        "_meta": own,
    }
    stamped: JsonObject = {SERVER_INFO: {"name": "us"}, **own}
    assert json.loads(envelope.encode_response(b"1", "saw", failed, modern=True)[1])["result"] == {
        **told,
        "resultType": "complete",
        "_meta": stamped,
    }


def test_a_failed_tool_is_marked_as_failed_even_when_its_body_forgot() -> None:
    assert result_of("saw", ToolFailure(b'{"content":[]}')) == {"content": [], "isError": True}


@pytest.mark.parametrize("mode", MODES)
async def test_an_answer_nested_too_deep_spoils_nothing_but_itself(mode: str) -> None:
    deep = b'{"content":[],"structuredContent":' + b'{"x":' * 400 + b"1" + b"}" * 400 + b"}"

    async def dig(*_: object) -> ToolSuccess:
        return ToolSuccess(deep)

    shelf = {**SHELVES[BENCH], "dig": (tool(BENCH, ToolSpec("dig")), dig)}
    with anyio.fail_after(DEADLINE):
        async with (
            open_workshop(shelves={**SHELVES, BENCH: shelf}) as workshop,
            served(workshop) as url,
            httpx2.AsyncClient(timeout=DEADLINE) as http,
        ):
            assert (await called(http, url, mode, "dig"))["result"]["isError"] is True
            assert (await called(http, url, mode, "echo", text="hi"))["result"]["content"][0]["text"] == "hi"


@pytest.mark.parametrize("mode", MODES)
async def test_a_gateway_that_fails_on_a_request_says_so_and_keeps_its_reasons(
    mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("a secret of the gateway")

    with anyio.fail_after(DEADLINE):
        async with open_workshop() as workshop, served(workshop) as url, httpx2.AsyncClient(timeout=DEADLINE) as http:
            monkeypatch.setattr(workshop.gateway.audit, "record", broken)
            answer = await called(http, url, mode, "echo", text="hi")
    assert answer["error"] == {"code": -32603, "message": "The gateway failed on this request. Its log says why."}


@pytest.mark.behaviour("law.only_admitted_calls_run")
async def test_a_call_is_recorded_with_who_called_and_how_it_ended() -> None:
    with anyio.fail_after(DEADLINE):
        async with open_workshop() as workshop, served(workshop) as url, httpx2.AsyncClient(timeout=DEADLINE) as http:
            for name in ("echo", "break_off", "open_vault"):
                await ask(http, url, "tools/call", name=name, arguments={"text": "hi"})
            records = workshop.audit.records
    assert [(record.call.name, record.call.client, str(record.call.principal)) for record in records] == [
        ("echo", "raw 1", "local"),
        ("break_off", "raw 1", "local"),
        ("open_vault", "raw 1", "local"),
    ]
    assert len({record.call.id for record in records}) == 3
    _, broken, locked = (record.outcome for record in records)
    assert isinstance(broken, ProviderFailure)
    vault = ToolId(key("vault"), "open_vault")
    assert (records[2].tool, locked) == (vault, LockedToolRefusal(vault, NoApproval(vault)))


@pytest.mark.behaviour("mcp.out.call_lists_nothing")
async def test_a_call_does_not_list_the_tools_on_its_way(monkeypatch: pytest.MonkeyPatch) -> None:
    listed: list[View] = []
    shown = DirectPresentation.tool_list

    def counted(self: DirectPresentation, view: View) -> ToolList:
        listed.append(view)
        return shown(self, view)

    monkeypatch.setattr(DirectPresentation, "tool_list", counted)
    with anyio.fail_after(DEADLINE):
        async with open_workshop() as workshop, served(workshop) as url, httpx2.AsyncClient(timeout=DEADLINE) as http:
            for mode in MODES:
                answer = await called(http, url, mode, "echo", text="hi")
                assert answer["result"]["content"] == [{"type": "text", "text": "hi"}]
            assert listed == []
            await ask(http, url, "tools/list")
            assert listed == [View()]


@pytest.mark.behaviour("mcp.out.order", "law.order_is_deterministic")
async def test_equal_lists_are_equal_bytes_on_every_gateway_and_every_time() -> None:
    bodies: set[bytes] = set()
    with anyio.fail_after(DEADLINE):
        for _ in range(2):
            async with (
                open_workshop() as workshop,
                served(workshop) as url,
                httpx2.AsyncClient(timeout=DEADLINE) as http,
            ):
                bodies.add((await ask(http, url, "tools/list")).content)
                workshop.bench.restart()
                workshop.bench.grow()
                workshop.bench.shrink()
                bodies.add((await ask(http, url, "tools/list", {"X-Mcp-Toolsets": "all"})).content)
    assert len(bodies) == 1


@pytest.mark.behaviour("mcp.in.demands_reach_the_client")
@pytest.mark.parametrize(("code", "status"), [(-32021, 400), (-32602, 400), (-32042, 200)])
def test_an_error_meant_for_the_client_has_the_status_that_the_protocol_gives_its_code(code: int, status: int) -> None:
    told = {"code": code, "message": "First this.", "data": {"requiredCapabilities": {"sampling": {}}}}
    envelope = ResultEncoder({"name": "pegboard", "version": "1"})
    ended = ProtocolErrorReply(json.dumps(told).encode())
    assert [envelope.encode_response(b"7", "saw", ended, modern=modern)[0] for modern in (True, False)] == [status, 200]
    assert json.loads(envelope.encode_response(b"7", "saw", ended, modern=True)[1]) == {
        "jsonrpc": "2.0",
        "id": 7,
        "error": told,
    }
