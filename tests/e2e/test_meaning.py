"""Search by meaning as people have it: a real gateway, the real model, two real servers."""

from pathlib import Path

import anyio
import pytest
from tests.e2e.served import DEMO, Served, served

from pegboard.providers.embedding.setup import SetupStep, set_up_model

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
ASKED = "/tools/search?query=borrow+a+novel"


def quiet(step: SetupStep) -> None: ...


async def ready(gateway: Served) -> None:
    """All tools of the demo are on the board."""
    await gateway.until("/tools", holds=lambda body: len(body["tools"]) == 12)


@pytest.mark.behaviour("semantic.until_read", "semantic.vectors_kept", "semantic.status")
@pytest.mark.timeout(300)
async def test_a_running_gateway_takes_up_the_model_and_keeps_what_it_read(tmp_path: Path) -> None:
    with anyio.fail_after(280):
        async with served(tmp_path, DEMO) as gateway:
            await ready(gateway)
            before = await gateway.ask(ASKED)
            assert before["ranker"] == "lexical"
            await set_up_model(gateway.data_dir, quiet)
            found = await gateway.until(ASKED, holds=lambda body: body["ranker"] == "hybrid")
            status = await gateway.until("/search", holds=lambda body: body["semantic"]["vectors"] == 12)
            assert (status["ranker"], status["semantic"]["storedVectors"]) == ("hybrid", 12)
            await gateway.kill()
        async with served(tmp_path, DEMO) as gateway:
            await ready(gateway)
            again = await gateway.ask(ASKED)
            assert again == found
