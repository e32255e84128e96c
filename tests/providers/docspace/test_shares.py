"""One DocSpace that hangs, or floods, takes nothing from another."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from starlette.responses import Response
from tests.docspace.stand_in import ADA_KEY, Hold, StandIn, listening, stand_in
from tests.providers.docspace.calling import PATIENCE, Script, ada, clock, enveloped, hung_up

from pegboard.core.calls.caller_credentials import ApiAccess, ApiKey
from pegboard.providers.docspace.client import DocSpaceClient, DocSpaceRequest
from pegboard.providers.docspace.limits import (
    LARGE_ANSWER_BYTES,
    MAX_LARGE_ANSWERS_PER_PLACE,
    MAX_REQUESTS_PER_PLACE,
    DocSpaceError,
    DocSpaceLimits,
)

pytestmark = pytest.mark.anyio
FILE: dict[str, Any] = {"fileId": 101, "filters": {"fields": ["id"]}}


@asynccontextmanager
async def opened(limits: DocSpaceLimits) -> AsyncIterator[DocSpaceClient]:
    client = DocSpaceClient(limits, clock)
    with anyio.fail_after(PATIENCE):
        try:
            yield client
        finally:
            await client.close()


async def asked(client: DocSpaceClient, url: str) -> str:
    access = ApiAccess(url, ApiKey(ADA_KEY))
    sending = DocSpaceRequest("GET", f"{url}api/2.0/files/file/101", {"accept": "application/json"})
    async with client.large_answer_slot(access) as seat:
        try:
            return str((await client.send(access, sending, seat)).status)
        except DocSpaceError as trouble:
            return str(trouble)


async def held_at(docspace: StandIn, client: DocSpaceClient, calls: int, told: list[str], refused: anyio.Event) -> None:
    """`refused`: all but as many as may be under way at once have an answer."""

    async def one() -> None:
        told.append(await asked(client, docspace.url))
        if len(told) == calls - MAX_REQUESTS_PER_PLACE:
            refused.set()

    async with anyio.create_task_group() as tasks:
        for _ in range(calls):
            tasks.start_soon(one)


@pytest.mark.behaviour("docspace.alone_with_its_troubles")
async def test_a_docspace_that_hangs_leaves_connections_for_every_other() -> None:
    told: list[str] = []
    refused = anyio.Event()
    async with stand_in() as hanging, stand_in() as other, opened(DocSpaceLimits(queue_timeout_s=1.0)) as client:
        hold = Hold()
        hanging.holds.append(hold)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(held_at, hanging, client, 300, told, refused)
            await hold.reached.wait()
            assert await asked(client, other.url) == "200"
            await refused.wait()
            assert await asked(client, other.url) == "200"
            hold.let_go.set()
        where = hanging.url.rstrip("/")
    crowded = f"{MAX_REQUESTS_PER_PLACE} requests to {where} are under way and none of them ends. Try again in a moment"
    assert (told.count("200"), told.count(crowded)) == (MAX_REQUESTS_PER_PLACE, 300 - MAX_REQUESTS_PER_PLACE)
    assert len(hanging.seen) == MAX_REQUESTS_PER_PLACE


@pytest.mark.behaviour("docspace.alone_with_its_troubles")
async def test_large_answers_of_one_place_are_held_by_few_calls_at_once_and_small_ones_by_any() -> None:
    large = enveloped({"id": 1, "title": "x" * 2 * LARGE_ANSWER_BYTES})
    floods, other = Script([large, enveloped({"id": 1}), large]), Script([large])
    async with (
        listening(floods) as url,
        listening(other) as elsewhere,
        opened(DocSpaceLimits(queue_timeout_s=0.2)) as client,
    ):
        access = ApiAccess(url, ApiKey(ADA_KEY))
        seats = [client.large_answer_slot(access) for _ in range(MAX_LARGE_ANSWERS_PER_PLACE)]
        for seat in seats:
            await seat.acquire()
        refused = await asked(client, url)
        assert await asked(client, url) == "200"
        assert await asked(client, elsewhere) == "200"
        for seat in seats:
            async with seat:
                pass
        assert await asked(client, url) == "200"
    assert refused == "too many large answers are read at once. Ask for less, or try again in a moment"


@pytest.mark.behaviour("docspace.alone_with_its_troubles")
async def test_an_answer_of_the_api_that_is_far_longer_than_any_real_one_is_not_read() -> None:
    script = Script([Response(b" " * (8 * 1024 * 1024 + 1), media_type="application/json")])
    async with listening(script) as url, hung_up(ada(url)) as wall:
        assert (await wall.text("get_file_info", FILE)).endswith("the answer is longer than 8 MiB")


@pytest.mark.behaviour("docspace.alone_with_its_troubles")
async def test_every_call_gives_its_seat_back_also_one_that_fails() -> None:
    large = enveloped({"id": "none", "title": "x" * 2 * LARGE_ANSWER_BYTES})
    script = Script(
        [
            *(large for _ in range(MAX_LARGE_ANSWERS_PER_PLACE * 2)),
            enveloped({"id": 1, "title": "x" * 2 * LARGE_ANSWER_BYTES}),
        ]
    )
    async with listening(script) as url, hung_up(ada(url), limits=DocSpaceLimits(queue_timeout_s=1.0)) as wall:
        for _ in range(MAX_LARGE_ANSWERS_PER_PLACE * 2):
            await wall.call("get_file_info", FILE)
        assert "structuredContent" in await wall.call("get_file_info", FILE)
