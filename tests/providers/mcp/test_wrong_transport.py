"""A server of one HTTP transport that was declared as one of the other: the cause is told, and what to write."""

import anyio
import pytest
from tests.providers.mcp.running import running
from tests.providers.mcp.web import Endpoint, served

from pegboard.core.model.server import Http, Transport

pytestmark = pytest.mark.anyio


async def forever(seconds: float) -> None:
    await anyio.sleep_forever()


@pytest.mark.behaviour("mcp.in.wrong_transport_is_told")
@pytest.mark.parametrize(
    ("status", "transport", "why"),
    [
        (
            404,
            Transport.STREAMABLE_HTTP,
            "answered HTTP 404: there is no MCP server at this address. Check the url; an older server may need "
            "transport: sse",
        ),
        (
            405,
            Transport.STREAMABLE_HTTP,
            "answered HTTP 405: it takes no messages at this address. An older server may need transport: sse",
        ),
        *(
            (
                status,
                Transport.SSE,
                f"answered HTTP {status} to the opening of an SSE stream. A server of streamable HTTP needs "
                "transport: http; else check the url",
            )
            for status in (400, 404, 405, 406)
        ),
    ],
)
async def test_a_status_of_the_other_transport_names_it(status: int, transport: Transport, why: str) -> None:
    async with (
        served(Endpoint(status=status)) as http,
        running(Http(http.url, transport), sleep=forever) as watched,
    ):
        assert (await watched.down()).why == why
