"""The pages of a gateway behind its root, with a build of three files, and a browser's headers."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
from tests.support.doubles import Providers
from tests.support.house import declared, opened
from tests.support.shared_api import shared_rest_app
from tests.support.sign_ins import ScriptedSignIns
from tests.surfaces.rest.desk import ABOUT, GITHUB, NOTES, TOOLS

from pegboard.core.policy.policy import DeclaredSettings
from pegboard.gateway.access.authentication import OperatorAuthentication
from pegboard.gateway.access.tokens import TokenIndex, hash_token
from pegboard.surfaces.http.router import HttpRouter
from pegboard.surfaces.mcp.request_checks import RequestChecks
from pegboard.surfaces.web.site import SiteFiles, WebUiSite

TOKEN = "the-start-up-token"
OWN = "http://127.0.0.1:8460"
COOKIE = "pegboard_8460"
PAGE = {"sec-fetch-site": "same-origin", "origin": OWN}
"""What a browser says of a request that a page of the gateway's own makes."""


def built(folder: Path) -> SiteFiles:
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text("<!doctype html><title>the wall</title>")
    (folder / "assets" / "index-B1x9_qZk.js").write_text("console.log('wall')")
    (folder / "favicon.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    return SiteFiles(folder)


@asynccontextmanager
async def browsing(
    files: SiteFiles | None = None, *, board: DeclaredSettings | None = None, reception: dict[str, object] | None = None
) -> AsyncIterator[tuple[httpx2.AsyncClient, OperatorAuthentication]]:
    """A client that keeps no cookies of its own: each test says what it sends."""
    async with opened(board or declared(GITHUB, NOTES), Providers(TOOLS)) as house:
        desk = OperatorAuthentication(TokenIndex(house.gateway.board, hash_token(TOKEN)), 8460, **(reception or {}))  # type: ignore[arg-type]
        door = RequestChecks(frozenset({"tools.example.org"}))

        def check(headers: Iterable[tuple[bytes, bytes]]) -> tuple[int, str] | None:
            refused = door.check_address(headers)
            return None if refused is None else (refused.status, refused.message)

        with shared_rest_app(house.gateway, ABOUT, desk, ScriptedSignIns) as api:
            site = WebUiSite(desk, SiteFiles(Path("/nonexistent")) if files is None else files)
            app = HttpRouter(api=api, pages=site, sign_in=api, check=check)
            async with httpx2.AsyncClient(
                transport=httpx2.ASGITransport(app, client=("127.0.0.1", 40000)), base_url=OWN
            ) as client:
                yield client, desk


def secret_in(answer: httpx2.Response, name: str = COOKIE) -> str:
    """The value of the one cookie that an answer sets."""
    (line,) = answer.headers.get_list("set-cookie")
    key, _, rest = line.partition("=")
    assert key == name
    value: str = rest.partition(";")[0]
    return value


async def signed_in(client: httpx2.AsyncClient, token: str = TOKEN) -> dict[str, str]:
    """The header that a browser sends from then on."""
    answer = await client.post("/ui/sign-in", data={"token": token}, headers=PAGE)
    client.cookies.clear()
    return {"cookie": f"{COOKIE}={secret_in(answer)}"}
