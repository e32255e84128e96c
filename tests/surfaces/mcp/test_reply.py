"""What is said before an answer: how much of it waits for a client, and what of it may be lost."""

import anyio
import pytest
from starlette.types import Message

from pegboard.providers.mcp.rate import LOG_BURST
from pegboard.surfaces.mcp.fast.response import MAX_QUEUED_BYTES, MAX_QUEUED_EVENTS, ResponseWriter

pytestmark = pytest.mark.anyio


class Reader:
    """A client that reads nothing until it may."""

    def __init__(self) -> None:
        self.may_read = anyio.Event()
        self.read: list[bytes] = []

    async def __call__(self, message: Message) -> None:
        await self.may_read.wait()
        if message["type"] == "http.response.body":
            self.read.append(bytes(message["body"]))


def event(message: bytes) -> bytes:
    return b"event: message\r\ndata: %b\r\n\r\n" % message


def numbered(*numbers: int) -> list[bytes]:
    return [event(b"%d" % number) for number in numbers]


async def all_read(reader: Reader, reply: ResponseWriter) -> list[bytes]:
    reader.may_read.set()
    with anyio.fail_after(60):
        await reply.finish(b"0")
    return reader.read


@pytest.mark.behaviour("mcp.out.logging")
async def test_as_many_messages_as_a_server_may_log_at_once_all_arrive_in_order() -> None:
    reader = Reader()
    reply = ResponseWriter(reader)
    for number in range(LOG_BURST):
        reply.send_event(b"%d" % number)
    assert await all_read(reader, reply) == numbered(*range(LOG_BURST), 0)


async def test_of_more_than_may_wait_the_oldest_are_lost_but_never_what_must_arrive() -> None:
    reader = Reader()
    reply = ResponseWriter(reader)
    reply.send_event(b"-1", must=True)
    for number in range(MAX_QUEUED_EVENTS + 5):
        reply.send_event(b"%d" % number)
    assert await all_read(reader, reply) == numbered(-1, *range(5, MAX_QUEUED_EVENTS + 5), 0)


async def test_heavy_messages_make_room_for_newer_ones_by_their_bytes() -> None:
    reader = Reader()
    reply = ResponseWriter(reader)
    for number in range(5):
        reply.send_event(b'"%d%b"' % (number, b"x" * (MAX_QUEUED_BYTES // 3)))
    read = await all_read(reader, reply)
    assert [chunk[:22] for chunk in read] == [event(b'"3')[:22], event(b'"4')[:22], event(b"0")[:22]]


async def test_one_message_heavier_than_all_that_may_wait_still_arrives() -> None:
    reader = Reader()
    reply = ResponseWriter(reader)
    reply.send_event(b"1")
    reply.send_event(b"2" * (MAX_QUEUED_BYTES + 1))
    reply.send_event(b"3")
    assert await all_read(reader, reply) == numbered(3, 0)
    reader = Reader()
    reply = ResponseWriter(reader)
    reply.send_event(b"1")
    reply.send_event(b"2" * (MAX_QUEUED_BYTES + 1))
    assert await all_read(reader, reply) == [event(b"2" * (MAX_QUEUED_BYTES + 1)), event(b"0")]
