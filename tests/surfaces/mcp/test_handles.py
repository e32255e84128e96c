"""Handles: what a client without a session has found travels with its requests, and nothing else does."""

from datetime import UTC, datetime, timedelta
from typing import cast

import anyio
import httpx2
import pytest
from mcp import MCPError
from mcp_types import INVALID_PARAMS, RequestParamsMeta
from tests.support.sentences import unfit_arguments
from tests.surfaces.mcp.deferring import OWN, carrying, deferring, in_memory, listed, search
from tests.surfaces.mcp.places import DEADLINE, MODERN, MODES, http_client
from tests.surfaces.mcp.raw import ask
from tests.surfaces.mcp.test_changes import names_of
from tests.surfaces.mcp.test_principals import ALICE, BOB, GUARDED, bearer
from tests.surfaces.mcp.test_search import told
from tests.surfaces.mcp.workshop import Workshop, open_workshop

from pegboard.core.model.ids import LOCAL_PRINCIPAL, BuiltinKey, ToolId
from pegboard.core.presentations.own_tools import MaterializedTools, make_handle
from pegboard.surfaces.mcp.presentations.base import HANDLE_LIFETIME, HANDLE_META_KEY, ConversationHandles
from pegboard.surfaces.mcp.presentations.deferred_tools import DeferredPresentation

pytestmark = pytest.mark.anyio


@pytest.mark.behaviour("deferred.handles")
async def test_a_stream_of_changes_is_not_opened_with_a_bad_handle() -> None:
    with anyio.fail_after(DEADLINE):
        async with open_workshop() as workshop, deferring(workshop) as url, httpx2.AsyncClient() as http:
            wanted, meta = {"toolsListChanged": True}, {HANDLE_META_KEY: "h1.x"}
            answer = await ask(http, url, "subscriptions/listen", meta=meta, notifications=wanted)
    assert "cannot be used: it is not one that this gateway gave you" in answer.text


def bad_handles(good: str, workshop: Workshop) -> dict[str, tuple[object, str]]:
    """Each with what is told of it."""
    not_ours, too_old = "it is not one that this gateway gave you, or not all of it", "it has expired"
    stale = make_handle([], LOCAL_PRINCIPAL, datetime.now(UTC) - timedelta(seconds=1), bytes(32))
    foreign = make_handle([], ALICE, datetime.now(UTC) + HANDLE_LIFETIME, bytes(32))
    other_key = ConversationHandles(workshop.gateway.board, workshop.gateway.clock).mint(
        MaterializedTools(), LOCAL_PRINCIPAL
    )
    middle = len(good) // 2
    return {
        "forged": (good[:middle] + ("A" if good[middle] != "A" else "B") + good[middle + 1 :], not_ours),
        "truncated": (good[:-3], not_ours),
        "another caller's": (foreign, not_ours),
        "another gateway's": (other_key, not_ours),
        "expired": (stale, too_old),
        "of a later form": ("h9." + good[3:], not_ours),
        "no handle at all": ("vault", not_ours),
        "half a character": ("h1.\ud800", not_ours),
    }


@pytest.mark.behaviour("deferred.handles")
@pytest.mark.parametrize(
    "bad",
    [
        *("forged", "truncated", "another caller's", "another gateway's"),
        *("expired", "of a later form", "no handle at all"),
    ],
)
@pytest.mark.parametrize("mode", MODES)
async def test_a_bad_handle_is_refused_in_clear_words_and_costs_nothing_that_was_found(bad: str, mode: str) -> None:
    async with open_workshop() as workshop:
        deferred = DeferredPresentation(workshop.gateway, key=lambda: bytes(32))
        async with in_memory(workshop, mode, deferred) as client, in_memory(workshop, MODERN, deferred) as modern:
            good = (await search(modern, "say it again", limit=1))["handle"]
            await search(client, "say it again", limit=1)
            handle, why = bad_handles(good, workshop)[bad]
            for name, arguments in (("tool_search", {"query": "numbers"}), ("call_tool", {"name": "fall"})):
                refused = told(await client.call_tool(name, {**arguments, "handle": handle}))
                fix = "Leave it out, and search for what you need with tool_search."
                assert refused == unfit_arguments(ToolId(BuiltinKey(), name), f"handle: {why}. {fix}")
            if mode == MODERN:
                for asking in (
                    listed(client, handle),
                    client.call_tool("fall", {}, meta=carrying(handle)),
                    client.call_tool("tool_search", {"query": "numbers"}, meta=carrying(handle)),
                ):
                    with pytest.raises(MCPError) as caught:
                        await asking
                    assert caught.value.error.code == INVALID_PARAMS
                    assert caught.value.error.message == (
                        f"The handle in _meta['pegboard/handle'] cannot be used: {why}. Leave it out, and search for "
                        "what you need with tool_search."
                    )
                assert await listed(client, good) == [*OWN, "echo"]
            else:
                assert await names_of(client) == [*OWN, "echo"]
            assert workshop.bench.admitted is None


@pytest.mark.behaviour("deferred.handles")
@pytest.mark.parametrize("handle", [7, True, ["h1."], {"h1": 1}, "", "x" * 60_000], ids=lambda each: str(each)[:12])
async def test_what_is_no_text_or_far_too_long_is_no_handle(handle: object) -> None:
    with anyio.fail_after(DEADLINE):
        async with open_workshop() as workshop, deferring(workshop) as url, httpx2.AsyncClient() as http:
            code, message = (
                (await ask(http, url, "tools/list", meta={HANDLE_META_KEY: handle})).json()["error"].values()
            )
            assert (code, "cannot be used" in message or "larger than" in message) == (INVALID_PARAMS, True)
            arguments = {"query": "x", "handle": handle}
            answer = await ask(http, url, "tools/call", name="tool_search", arguments=arguments)
            assert answer.json()["result"]["isError"] is True


@pytest.mark.behaviour("deferred.handles")
async def test_a_callers_handle_is_of_no_use_to_another_caller() -> None:
    with anyio.fail_after(DEADLINE):
        async with open_workshop(GUARDED) as workshop, deferring(workshop) as url:
            async with http_client(url, bearer(BOB), mode=MODERN) as bob:
                handle = (await search(bob, "say it again", limit=1))["handle"]
                assert await listed(bob, handle) == [*OWN, "echo"]
            async with http_client(url, bearer(ALICE), mode=MODERN) as alice:
                with pytest.raises(MCPError, match="not one that this gateway gave you"):
                    await listed(alice, handle)


@pytest.mark.behaviour("deferred.replicas")
async def test_gateways_with_one_key_take_each_others_handles() -> None:
    async with open_workshop() as one, open_workshop() as other:
        first = DeferredPresentation(one.gateway, key=lambda: b"k" * 32)
        second = DeferredPresentation(other.gateway, key=lambda: b"k" * 32)
        async with in_memory(one, MODERN, first) as here, in_memory(other, MODERN, second) as there:
            handle = (await search(here, "say it again", limit=1))["handle"]
            assert await listed(there, handle) == [*OWN, "echo"]
            handle = (await search(there, "two numbers", limit=1, handle=handle))["handle"]
            assert await listed(here, handle) == [*OWN, "echo", "add"]
            # What is not on the other board is not shown there, and is not lost by the way.
            other.bench.fall()
            handle = (await search(there, "create a folder", limit=1, handle=handle))["handle"]
            assert await listed(there, handle) == [*OWN, "create_folder"]
            assert await listed(here, handle) == [*OWN, "echo", "add", "create_folder"]


@pytest.mark.behaviour("deferred.stateless")
async def test_a_handle_is_for_the_gateway_alone_and_no_server_gets_it() -> None:
    async with open_workshop() as workshop, in_memory(workshop, MODERN) as client:
        handle = (await search(client, "say it again", limit=1))["handle"]
        meta = cast(RequestParamsMeta, {HANDLE_META_KEY: handle, "example.org/trace": "t-1"})
        await client.call_tool("echo", {"text": "x"}, meta=meta)
        admitted = workshop.bench.admitted
        assert admitted is not None
        assert handle.encode() not in b"".join(admitted.call.beside.values())
        assert b"t-1" in admitted.call.beside["_meta"]
