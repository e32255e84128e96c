"""The pages of a sign-in: out by a redirect with a mark, back with the same mark, and plain words at the end."""

from collections.abc import Callable

import httpx2
import pytest
from tests.core.boards import key
from tests.support.sign_ins import ScriptedSignIns

from pegboard.core.model.ids import PrincipalId, ServerKey
from pegboard.ports.providers import CompletedSignIn, SignInRedirect, SignInUnavailable
from pegboard.surfaces.sign_in import COOKIE_NAME, SignInPages

pytestmark = pytest.mark.anyio

OUT = SignInRedirect("https://as.example.org/authorize?state=s", "the-mark")


def unheard(server: ServerKey, by: PrincipalId) -> None:
    """Who need not know that somebody signed in."""


async def asked(
    sign_ins: ScriptedSignIns,
    path: str,
    method: str = "GET",
    signed_in: Callable[[ServerKey, PrincipalId], None] = unheard,
    **headers: str,
) -> httpx2.Response:
    transport = httpx2.ASGITransport(SignInPages(sign_ins, signed_in))
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1:8460") as client:
        return await client.request(method, path, headers=headers)


@pytest.mark.behaviour("mcp.in.sign_in", "mcp.in.sign_in_link")
async def test_a_link_leads_out_with_a_mark_for_the_way_back() -> None:
    sign_ins = ScriptedSignIns(sends=OUT)
    page = await asked(sign_ins, "/sign-in/abc")
    assert (page.status_code, page.headers["location"]) == (303, OUT.url)
    assert page.headers["set-cookie"] == f"{COOKIE_NAME}=the-mark; HttpOnly; Path=/sign-in/; SameSite=lax"
    assert (page.headers["cache-control"], page.headers["referrer-policy"]) == ("no-store", "no-referrer")
    assert sign_ins.heard == ["abc"]


async def test_the_way_back_brings_the_answer_and_the_mark() -> None:
    sign_ins = ScriptedSignIns(finishes=CompletedSignIn(key("dev~github"), PrincipalId("ann")))
    heard: list[tuple[ServerKey, PrincipalId]] = []

    def signed_in(server: ServerKey, by: PrincipalId) -> None:
        heard.append((server, by))

    back = "/sign-in/callback?code=c&state=s&iss=i"
    page = await asked(sign_ins, back, signed_in=signed_in, cookie=f"{COOKIE_NAME}=the-mark")
    assert page.status_code == 200
    assert heard == [(key("dev~github"), "ann")], "whoever asked for the link is who signed in"
    assert "<p>Signed in to dev~github. You can close this window.</p>" in page.text
    assert sign_ins.heard == [({"code": "c", "state": "s", "iss": "i"}, "the-mark")]
    assert f'{COOKIE_NAME}=""; ' in page.headers["set-cookie"]
    assert "default-src 'none'" in page.headers["content-security-policy"]


async def test_what_went_wrong_is_told_as_text_and_nothing_else() -> None:
    sign_ins = ScriptedSignIns(
        finishes=SignInUnavailable("it answered <script>alert(1)</script>"), sends=SignInUnavailable("a<b")
    )
    page = await asked(sign_ins, "/sign-in/callback?error=no&state=s", signed_in=lambda server, by: pytest.fail("no"))
    assert (page.status_code, "&lt;script&gt;" in page.text, "<script>" in page.text) == (400, True, False)
    page = await asked(sign_ins, "/sign-in/abc")
    assert (page.status_code, "<p>a&lt;b</p>" in page.text) == (410, True)


@pytest.mark.parametrize("query", ["", "?", "?state=a&state=b", "?state=s&code=" + "x" * 20_000, "?" + "a&" * 100])
async def test_an_answer_that_no_server_gives_is_not_passed_on(query: str) -> None:
    sign_ins = ScriptedSignIns()
    page = await asked(sign_ins, f"/sign-in/callback{query}")
    assert (page.status_code, sign_ins.heard) == (400, [])


@pytest.mark.behaviour("mcp.in.sign_in_link")
@pytest.mark.parametrize("method", ["HEAD", "POST", "OPTIONS", "DELETE"])
async def test_a_mere_look_does_not_use_a_link_up(method: str) -> None:
    sign_ins = ScriptedSignIns(sends=OUT)
    page = await asked(sign_ins, "/sign-in/abc", method)
    assert (page.status_code, page.headers["allow"], sign_ins.heard) == (405, "GET", [])
