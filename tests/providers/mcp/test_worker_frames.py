"""What a worker process says, read without trust: whole frames however they are cut, and nothing after garbage."""

import struct
import sys
from itertools import pairwise

import anyio
import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard.processes.child import inherited_environment
from pegboard.processes.frames import FrameError, FrameReader
from pegboard.processes.worker import WorkerProcess, start_worker

HEAD = struct.Struct("<IB")
MAX_BYTES = 1_000
FRAME = st.tuples(st.integers(0, 255), st.binary(max_size=50))


def encoded(kind: int, body: bytes) -> bytes:
    return HEAD.pack(len(body), kind) + body


@given(st.lists(FRAME), st.lists(st.integers(0, 600)))
def test_frames_are_the_same_however_their_bytes_are_cut(frames: list[tuple[int, bytes]], cuts: list[int]) -> None:
    text = b"".join(encoded(*frame) for frame in frames)
    places = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    reader = FrameReader(HEAD, MAX_BYTES)
    chunks = (text[start:end] for start, end in pairwise(places))
    assert [frame for chunk in chunks for frame in reader.feed(chunk)] == [((kind,), body) for kind, body in frames]


def test_a_frame_that_is_too_long_is_refused_by_its_head_behind_the_frames_before_it() -> None:
    reader = FrameReader(HEAD, MAX_BYTES)
    found = reader.feed(encoded(1, b"first") + HEAD.pack(MAX_BYTES + 1, 2))
    assert next(found) == ((1,), b"first")
    with pytest.raises(FrameError, match="a frame of 1001 bytes"):
        next(found)


async def started(code: str) -> WorkerProcess:
    words = (sys.executable, "-I", "-c", f"import os, struct, subprocess, sys, time\n{code}")
    return await start_worker(words, inherited_environment(), None, HEAD, MAX_BYTES)


async def write_without_end(worker: WorkerProcess) -> None:
    while True:
        await worker.write(b"x" * 65_536)


@pytest.mark.anyio
async def test_what_came_before_garbage_is_heard_and_nothing_behind_it() -> None:
    worker = await started("os.write(1, struct.pack('<IB', 2, 7) + b'ok' + b'\\xff' * 100); time.sleep(60)")
    try:
        with anyio.fail_after(30):
            assert await worker.next_frame() == ((7,), b"ok")
            for _ in range(2):
                with pytest.raises(FrameError):
                    await worker.next_frame()
    finally:
        await worker.end()


@pytest.mark.anyio
async def test_a_worker_that_ends_is_heard_of_with_its_last_words_and_takes_nothing_more() -> None:
    worker = await started("os.close(0); sys.exit('out of paper')")
    try:
        with anyio.fail_after(30):
            assert await worker.next_frame() is None
            assert await worker.last_words(100, 10) == "out of paper\n"
            with pytest.raises(OSError):
                await write_without_end(worker)
    finally:
        await worker.end()


@pytest.mark.anyio
async def test_a_worker_is_ended_with_all_that_it_started() -> None:
    worker = await started(
        "inner = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        "os.write(1, struct.pack('<IBI', 4, 1, inner.pid)); time.sleep(60)"
    )
    with anyio.fail_after(30):
        frame = await worker.next_frame()
        assert frame is not None
        inner = psutil.Process(struct.unpack("<I", frame[1])[0])
        await worker.end()
        assert worker.is_gone
        assert not worker.is_alive
        while inner.is_running() and inner.status() != psutil.STATUS_ZOMBIE:  # noqa: ASYNC110 - no event tells it
            await anyio.sleep(0.01)
