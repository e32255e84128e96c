"""Where what a caller names may lead: never to the metadata of clouds, and inside only to what the operator named."""

from ipaddress import ip_address
from typing import Any

import pytest
from starlette.responses import PlainTextResponse, RedirectResponse
from tests.docspace.stand_in import BOB_KEY, listening, stand_in
from tests.providers.docspace.calling import Script, ada, enveloped, hung_up

from pegboard.core.model.network_address import Address
from pegboard.core.model.web_api import CallerCredentialRules
from pegboard.providers.docspace import client as bounds

pytestmark = pytest.mark.anyio
FILE: dict[str, Any] = {"fileId": 101, "filters": {"fields": ["title"]}}
SECRET = "what only this machine should read"
OPERATION = {"id": "op1", "progress": 100, "finished": True, "error": "", "processed": "1"}


def bob(url: str) -> dict[bytes, bytes]:
    return {b"x-mcp-base-url": url.encode(), b"x-mcp-api-key": BOB_KEY.encode()}


def told(result: dict[str, Any]) -> str:
    assert result["isError"] is True
    return str(result["content"][0]["text"]).splitlines()[-1].strip()


@pytest.mark.behaviour("docspace.bounds")
@pytest.mark.parametrize(
    ("url", "how"),
    [
        ("http://169.254.169.254/", "No caller leads there"),
        ("http://[fe80::1]/", "No caller leads there"),
        ("http://[::ffff:169.254.169.254]/", "No caller leads there"),
        ("http://[fd00:ec2::254]/", "No caller leads there"),
        ("http://[fd20:ce::254]/", "No caller leads there"),
        ("http://168.63.129.16/", "No caller leads there"),
        ("http://[::ffff:168.63.129.16]/", "No caller leads there"),
        ("http://0.0.0.0/", "No caller leads there"),
        ("http://127.0.0.1:8/", "The operator can name it under docspace.request_base_urls"),
        ("http://localhost:8/", "The operator can name it under docspace.request_base_urls"),
        ("http://2130706433/", "The operator can name it under docspace.request_base_urls"),
        ("http://[::1]:8/", "The operator can name it under docspace.request_base_urls"),
        ("https://10.1.2.3/", "The operator can name it under docspace.request_base_urls"),
        ("https://[fd12::1]/", "The operator can name it under docspace.request_base_urls"),
        ("https://[fec0::1]/", "The operator can name it under docspace.request_base_urls"),
        ("https://[feff::1]/", "The operator can name it under docspace.request_base_urls"),
        ("http://[64:ff9b::7f00:1]/", "The operator can name it under docspace.request_base_urls"),
    ],
)
async def test_an_address_inside_that_nobody_named_is_not_gone_to(url: str, how: str) -> None:
    async with hung_up(None, lends=CallerCredentialRules()) as wall:
        result = await wall.call("get_file_info", FILE, bob(url))
    assert told(result).endswith(f" is inside the gateway's own machine or network. {how}")


@pytest.mark.behaviour("docspace.bounds")
async def test_the_metadata_of_a_cloud_is_not_gone_to_even_where_it_is_named() -> None:
    url = "http://169.254.169.254/"
    async with hung_up(None, lends=CallerCredentialRules(base_urls=(url,)), named=(url,)) as wall:
        assert told(await wall.call("get_file_info", FILE, bob(url))).endswith("No caller leads there")


@pytest.mark.behaviour("docspace.bounds")
async def test_a_redirect_or_a_download_leads_no_caller_inside_and_the_operator_still_goes_where_its_own_leads() -> (
    None
):
    inside = Script([PlainTextResponse(SECRET)] * 2)
    hostile = Script()
    async with listening(inside) as within, listening(hostile) as url:
        finished = {**OPERATION, "url": f"{within}internal"}
        downloading = [enveloped({"fileExst": ".txt"}), enveloped([finished]), enveloped([finished])]
        hostile.answers = [RedirectResponse(f"{within}internal"), *downloading, *downloading]
        async with hung_up(ada(url), lends=CallerCredentialRules(), named=(url,)) as wall:
            redirected = await wall.call("get_file_info", FILE, bob(url))
            downloaded = await wall.call("download_file_as_text", {"fileId": 101}, bob(url))
            assert inside.asked == []
            own = await wall.text("download_file_as_text", {"fileId": 101})
    port = within.rstrip("/").rpartition(":")[2]
    refused = (
        f"127.0.0.1:{port} is inside the gateway's own machine or network. The operator can name it under "
        "docspace.request_base_urls"
    )
    assert (told(redirected), told(downloaded), own) == (refused, refused, SECRET)


@pytest.mark.behaviour("docspace.bounds")
async def test_a_name_is_looked_up_once_and_what_was_looked_at_is_connected_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that stands for another address a moment later leads nowhere else."""
    answers: list[list[Address]] = []

    async def looked_up(host: str, port: int) -> list[Address]:
        return answers.pop(0)

    monkeypatch.setattr(bounds, "_resolve_addresses", looked_up)
    async with stand_in() as docspace:
        port = docspace.url.rstrip("/").rpartition(":")[2]
        url = f"http://docs.example.com:{port}/"
        async with hung_up(None, lends=CallerCredentialRules(), named=(url,)) as wall:
            answers[:] = [[ip_address("127.0.0.1")]]
            found = await wall.call("get_file_info", FILE, bob(url))
            assert answers == []
        async with hung_up(None, lends=CallerCredentialRules()) as wall:
            answers[:] = [[ip_address("93.184.215.14"), ip_address("127.0.0.1")]]
            mixed = await wall.call("get_file_info", FILE, bob(url))
        asked = docspace.lines()
    assert found["structuredContent"]["response"] == {"title": "bob.txt"}
    assert told(mixed).startswith(f"docs.example.com:{port} is inside ")
    assert len(asked) == 1


@pytest.mark.behaviour("docspace.bounds")
async def test_behind_a_proxy_what_is_known_to_be_inside_is_not_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    proxy = Script()
    async with listening(proxy) as url:
        monkeypatch.setenv("http_proxy", url)
        async with hung_up(None, lends=CallerCredentialRules()) as wall:
            result = await wall.call("get_file_info", FILE, bob("http://127.0.0.1:1/"))
        assert proxy.asked == []
    assert told(result).startswith("127.0.0.1:1 is inside ")
