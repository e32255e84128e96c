"""The built pages: served whole, kept as long as they hold, and nothing else of the disk."""

from pathlib import Path

import pytest
from tests.surfaces.web.site import OWN, browsing, built

pytestmark = pytest.mark.anyio

SAFE = {
    "content-security-policy": (
        "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'self'; "
        "frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


@pytest.mark.behaviour("ui.served")
@pytest.mark.parametrize(
    ("path", "kind", "keep"),
    [
        ("/ui/", "text/html; charset=utf-8", "no-cache"),
        ("/ui/tools/mcp:dev~github:read", "text/html; charset=utf-8", "no-cache"),
        ("/ui/index.html", "text/html; charset=utf-8", "no-cache"),
        ("/ui/favicon.svg", "image/svg+xml; charset=utf-8", "no-cache"),
        ("/ui/assets/index-B1x9_qZk.js", "text/javascript; charset=utf-8", "public, max-age=31536000, immutable"),
    ],
)
async def test_pages_are_served_with_what_a_browser_must_know_of_them(
    tmp_path: Path, path: str, kind: str, keep: str
) -> None:
    async with browsing(built(tmp_path / "pages")) as (client, _):
        answer = await client.get(path)
        assert answer.status_code == 200
        assert {**SAFE, "content-type": kind, "cache-control": keep}.items() <= dict(answer.headers).items()
        looked = await client.head(path)
        assert (looked.status_code, looked.content) == (200, b"")


@pytest.mark.behaviour("web.page_of_a_tool_reaches_nothing")
async def test_the_frame_for_the_page_of_a_tool_has_an_origin_of_its_own_and_no_network() -> None:
    async with browsing() as (client, _):
        answer = await client.get("/ui/frame")
    policy = answer.headers["content-security-policy"].split("; ")
    assert policy == [
        "sandbox allow-scripts",
        "default-src 'none'",
        "script-src 'unsafe-inline'",
        "style-src 'unsafe-inline'",
        "img-src data:",
        "font-src data:",
        "media-src data:",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'self'",
        "webrtc 'block'",
    ]
    kept = {name: answer.headers[name] for name in ("content-type", "x-frame-options", "referrer-policy")}
    assert kept == {
        "content-type": "text/html; charset=utf-8",
        "x-frame-options": "SAMEORIGIN",
        "referrer-policy": "no-referrer",
    }


@pytest.mark.behaviour("ui.served")
@pytest.mark.parametrize(
    "path",
    [
        "/ui/../pegboard.yaml",
        "/ui/..%2fsecret.txt",
        "/ui/%2e%2e/secret.txt",
        "/ui/assets/../../secret.txt",
        "/ui//etc/hostname.txt",
        "/ui/link.txt",
        "/ui/.hidden.txt",
        "/ui/assets%5c..%5csecret.txt",
        "/ui/nothing.js",
        "/ui/%00.txt",
    ],
)
async def test_no_path_leads_out_of_the_pages(tmp_path: Path, path: str) -> None:
    (tmp_path / "secret.txt").write_text("swordfish")
    files = built(tmp_path / "pages")
    (tmp_path / "pages" / "link.txt").symlink_to(tmp_path / "secret.txt")
    (tmp_path / "pages" / ".hidden.txt").write_text("swordfish")
    async with browsing(files) as (client, _):
        answer = await client.send(client.build_request("GET", OWN).__class__("GET", f"{OWN}{path}"))
        assert answer.status_code == 404
        assert "swordfish" not in answer.text


@pytest.mark.behaviour("ui.unbuilt")
async def test_without_a_build_the_page_says_how_to_make_one_and_then_shows_it(tmp_path: Path) -> None:
    from pegboard.surfaces.web.site import SiteFiles

    files = SiteFiles(tmp_path / "pages")
    async with browsing(files) as (client, _):
        answer = await client.get("/ui/")
        assert answer.status_code == 200
        assert "<code>make ui</code>" in answer.text
        assert "<script" not in answer.text
        assert "<style" not in answer.text
        built(tmp_path / "pages")
        assert "the wall" in (await client.get("/ui/")).text


async def test_a_browser_at_the_root_is_sent_to_the_pages_and_others_are_told_where_things_are() -> None:
    async with browsing() as (client, _):
        sent = await client.get("/", headers={"accept": "text/html,*/*;q=0.8"})
        assert (sent.status_code, sent.headers["location"]) == (307, "/ui/")
        assert (await client.get("/")).status_code == 404
        bare = await client.get("/ui")
        assert (bare.status_code, bare.headers["location"]) == (307, "/ui/")


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
async def test_pages_are_only_looked_at(tmp_path: Path, method: str) -> None:
    async with browsing(built(tmp_path / "pages")) as (client, _):
        answer = await client.request(method, "/ui/")
        assert (answer.status_code, answer.headers["allow"]) == (405, "GET, HEAD")


@pytest.mark.parametrize(("name", "value"), [("host", "evil.example"), ("origin", "https://evil.example")])
async def test_a_rebound_name_and_a_foreign_page_get_no_page(name: str, value: str) -> None:
    async with browsing() as (client, _):
        assert (await client.get("/ui/", headers={name: value})).status_code in (403, 421)
