"""A process that is killed while it reads tools loses the vectors that it had not kept, and no others."""

import subprocess
import sys

import anyio
import pytest
from anyio.streams.text import TextReceiveStream
from tests.gateway.reader import TOOLS, read
from tests.store.engines import Engine, now
from tests.store.processes import ENVIRONMENT, ROOT
from tests.support.encoders import SmallEncoder

from pegboard.store.open import open_store

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
ALL = sum(map(len, TOOLS.values()))


async def killed(url: str, after: int) -> int:
    """How many were told to be kept by a process that was killed once it had told so many."""
    command = [sys.executable, "-m", "tests.gateway.reader", url]
    async with await anyio.open_process(
        command, cwd=ROOT, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=None
    ) as process:
        assert process.stdout is not None
        said = ""
        async for piece in TextReceiveStream(process.stdout):
            said += piece
            if max(told(said), default=0) >= after:
                process.kill()
    return max(told(said))


def told(said: str) -> list[int]:
    *lines, _ = said.split("\n")
    return [int(line.removeprefix("kept ")) for line in lines]


@pytest.mark.behaviour("semantic.kill_loses_the_unfinished")
async def test_after_a_kill_only_what_was_not_kept_is_read_again(engine: Engine) -> None:
    with anyio.fail_after(100):
        acknowledged = await killed(engine.url, 200)
        async with open_store(engine.url, clock=now) as store:
            kept = await store.vectors.count()
        assert acknowledged <= kept < ALL
        encoder = SmallEncoder()
        await read(engine.url, encoder)
        assert len(encoder.read) == ALL - kept
        async with open_store(engine.url, clock=now) as store:
            assert await store.vectors.count() == ALL
