"""HTTP with DocSpace: what is asked again, where credentials go, and what is said when it fails."""

import gzip
import zlib
from datetime import timedelta
from email.utils import format_datetime
from typing import Any

import anyio
import pytest
from starlette.responses import Response
from tests.docspace.stand_in import Fault, Hold, listening, stand_in
from tests.providers.docspace.calling import NOW, QUICK, Script, ada, enveloped, hung_up

from pegboard.core.calls.caller_credentials import AccessToken, ApiAccess
from pegboard.core.model.web_api import ApiMisconfiguration
from pegboard.providers.docspace.limits import DocSpaceLimits

pytestmark = pytest.mark.anyio
FILE: dict[str, Any] = {"fileId": 101, "filters": {"fields": ["id"]}}
ASKED = "GET /api/2.0/files/file/101?fields=id"


def failed(url: str, *lines: str) -> str:
    """What is said of a file that could not be asked about."""
    chain = ("Getting file info.", "Fetching request.", *lines)
    return "\n".join("\t" * depth + line for depth, line in enumerate(chain)).replace("{url}", url)


def refused(url: str, told: str) -> str:
    line = f"GET {{url}}api/2.0/files/file/101?fields=id: {told}"
    return failed(url, "Making bare fetch.", "Checking response.", line)


@pytest.mark.behaviour("docspace.busy")
@pytest.mark.parametrize("status", [429, 502, 503])
async def test_a_question_that_docspace_is_too_busy_for_is_put_again(status: int) -> None:
    async with stand_in() as docspace, hung_up(ada(docspace.url)) as wall:
        docspace.faults.append(Fault(status, times=2, headers={"Retry-After": "0"}))

        result = await wall.call("get_file_info", FILE)

        assert result["structuredContent"]["response"] == {"id": 101}
        assert docspace.lines() == [ASKED] * 3


async def test_a_docspace_that_stays_too_busy_is_asked_three_times() -> None:
    async with stand_in() as docspace, hung_up(ada(docspace.url)) as wall:
        docspace.faults.append(Fault(503, times=9))

        assert await wall.text("get_file_info", FILE) == refused(docspace.url, "503 Service Unavailable")
        assert docspace.lines() == [ASKED] * 3


@pytest.mark.parametrize("after", ["soon", "Fri, 31 Dec 9999 23:59:59 +9999999999999999999"])
async def test_a_time_to_wait_that_cannot_be_read_is_as_good_as_none(after: str) -> None:
    async with stand_in() as docspace, hung_up(ada(docspace.url)) as wall:
        docspace.faults.append(Fault(503, headers={"Retry-After": after}))

        assert '"id": 101' in await wall.text("get_file_info", FILE)
        assert docspace.lines() == [ASKED] * 2


@pytest.mark.parametrize("after", ["31", format_datetime(NOW + timedelta(seconds=31))])
async def test_a_docspace_that_wants_to_be_left_alone_for_long_is_not_waited_for(after: str) -> None:
    async with stand_in() as docspace, hung_up(ada(docspace.url)) as wall:
        docspace.faults.append(Fault(429, headers={"Retry-After": after}))

        assert await wall.text("get_file_info", FILE) == refused(docspace.url, "429 Too Many Requests")
        assert docspace.lines() == [ASKED]


@pytest.mark.behaviour("docspace.busy")
@pytest.mark.parametrize(
    ("tool", "arguments", "line"),
    [
        ("update_file", {"fileId": 101, "title": "x"}, "PUT /api/2.0/files/file/101"),
        ("delete_folder", {"folderId": 12}, "DELETE /api/2.0/files/folder/12"),
        ("create_room", {"title": "x", "filters": {"fields": []}}, "POST /api/2.0/files/rooms"),
        ("copy_batch_items", {}, "PUT /api/2.0/files/fileops/copy"),
    ],
)
async def test_what_may_have_been_done_is_never_asked_for_again(tool: str, arguments: Any, line: str) -> None:
    async with stand_in() as docspace, hung_up(ada(docspace.url)) as wall:
        docspace.faults.append(Fault(503, times=9, headers={"Retry-After": "0"}))

        assert (await wall.text(tool, arguments)).endswith(": 503 Service Unavailable")
        assert docspace.lines() == [line]


@pytest.mark.behaviour("docspace.credentials_stay")
async def test_a_redirect_within_docspace_keeps_the_credentials_and_one_away_from_it_loses_them_for_good() -> None:
    home, away = Script(), Script()
    async with listening(home) as url, listening(away) as elsewhere:
        home.answers += [
            Response(status_code=302, headers={"location": "/second"}),
            Response(status_code=307, headers={"location": f"{elsewhere}third"}),
            enveloped({"id": 1}),
        ]
        away.answers += [Response(status_code=301, headers={"location": f"{url}fourth"})]
        async with hung_up(ApiAccess(url, AccessToken("pat-1"))) as wall:
            result = await wall.call("get_file_info", FILE)

    assert result["structuredContent"]["response"] == {"id": 1}
    assert (home.lines, away.lines) == ([ASKED, "GET /second", "GET /fourth"], ["GET /third"])
    sent = [{name: headers.get(name) for name in ("authorization", "cookie")} for _, _, headers, _ in home.asked]
    credentials = {"authorization": "pat-1", "cookie": "asc_auth_key=pat-1"}
    nothing = {"authorization": None, "cookie": None}
    assert sent == [credentials, credentials, nothing]
    assert {name: away.asked[0][2].get(name) for name in nothing} == nothing


@pytest.mark.parametrize(
    ("status", "method", "body"), [(307, "PUT", b'{"title":"x"}'), (302, "PUT", b'{"title":"x"}'), (303, "GET", b"")]
)
async def test_a_redirected_change_is_made_as_the_status_says(status: int, method: str, body: bytes) -> None:
    script = Script([Response(status_code=status, headers={"location": "/other"}), enveloped({"id": 1})])
    async with listening(script) as url, hung_up(ada(url)) as wall:
        await wall.call("update_file", {"fileId": 101, "title": "x"})

    assert [(asked[0], asked[1], asked[3]) for asked in script.asked] == [
        ("PUT", "/api/2.0/files/file/101", b'{"title":"x"}'),
        (method, "/other", body),
    ]


@pytest.mark.parametrize("answer", [Response(status_code=401), Response("<html></html>", 403)])
async def test_a_refusal_after_a_redirect_to_another_origin_says_so(answer: Response) -> None:
    home, away = Script(), Script([answer])
    async with listening(home) as url, listening(away) as elsewhere, hung_up(ada(url)) as wall:
        home.answers.append(Response(status_code=301, headers={"location": f"{elsewhere}api"}))
        text = await wall.text("get_file_info", FILE)

    assert text.splitlines()[-1].strip() == (
        f"{url} redirects to {elsewhere.rstrip('/')}, where credentials do not follow. Use that as the base URL"
    )


async def test_redirects_without_end_are_followed_twenty_times() -> None:
    script = Script([Response(status_code=302, headers={"location": "/again"}) for _ in range(30)])
    async with listening(script) as url, hung_up(ada(url)) as wall:
        text = await wall.text("get_file_info", FILE)

    assert text == failed(url, "Making bare fetch.", "Fetching request.", "fetch failed", "redirect count exceeded")
    assert len(script.asked) == 21


async def test_what_docspace_sets_for_one_caller_is_never_sent_for_another() -> None:
    script = Script([enveloped({"id": 1}), enveloped({"id": 2})])
    script.answers[0].set_cookie("asc_auth_key", "of-ada")
    async with listening(script) as url, hung_up(ada(url)) as wall:
        await wall.call("get_file_info", FILE)
        await wall.call("get_file_info", FILE)

    assert ["cookie" in headers for _, _, headers, _ in script.asked] == [False, False]


@pytest.mark.behaviour("docspace.words")
@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (Response(status_code=401), "401 Unauthorized"),
        (Response("<h1>no</h1>", 500), "500 Internal Server Error"),
        (Response('{"success":false,"message":"No rights"}', 200), "200 No rights"),
        (
            Response('{"status":1,"statusCode":403,"error":{"message":"No","type":"t","stack":"","hresult":-1}}', 200),
            "200 No",
        ),
        (
            Response(
                '{"status":1,"statusCode":403,"error":{"message":"No","type":"t","stack":null,"hresult":-1}}', 403
            ),
            "403 Forbidden",
        ),
        (Response(status_code=302), "302 Found"),
    ],
)
async def test_a_refusal_is_told_in_docspaces_words_or_by_its_status(answer: Response, told: str) -> None:
    async with listening(Script([answer])) as url, hung_up(ada(url)) as wall:
        assert await wall.text("get_file_info", FILE) == refused(url, told)


@pytest.mark.parametrize(
    ("answer", "lines"),
    [
        (Response(status_code=204), ["Parsing response body.", "Unexpected end of JSON input"]),
        (Response("OK"), ["Parsing response body.", "Unexpected token 'O', \"OK\" is not valid JSON"]),
        (
            Response("<html></html>"),
            [
                "Parsing response body.",
                "Unexpected token '<', \"<html></html>\" is not valid JSON",
                "This is a web page, not the API of a DocSpace. Check the base URL {url}",
            ],
        ),
        (Response("[]"), ["Parsing success response.", "\tinvalid_union: Invalid input"]),
        (
            Response('{"response":{},"status":0,"statusCode":200,"links":[{"href":1}]}'),
            ["Parsing success response.", "\tinvalid_union: Invalid input"],
        ),
    ],
)
async def test_an_answer_that_is_none_of_the_api_is_told_as_what_it_is(answer: Response, lines: list[str]) -> None:
    async with listening(Script([answer])) as url, hung_up(ada(url)) as wall:
        assert await wall.text("get_file_info", FILE) == failed(url, "Parsing response.", *lines)


async def test_the_kind_of_the_answer_decides_how_it_is_told() -> None:
    body = b'{"response":{"id":1.0},"status":0,"statusCode":200,"links":[]}'
    script = Script([Response(body, media_type=kind) for kind in ("text/plain", "application/xml", "application/json")])
    script.answers.append(Response(body))
    async with listening(script) as url, hung_up(ada(url)) as wall:
        results = [await wall.call("get_file_info", FILE) for _ in script.answers]

    def said(text: str) -> list[dict[str, str]]:
        return [{"type": "text", "text": text}]

    assert results == [
        {"content": said(body.decode())},
        {"content": said("Content-Type application/xml is not supported"), "isError": True},
        {
            "content": said(
                '{\n  "response": {\n    "id": 1\n  },\n  "status": 0,\n  "statusCode": 200,\n  "links": []\n}'
            ),
            "structuredContent": {"response": {"id": 1}, "status": 0, "statusCode": 200, "links": []},
        },
        {"content": said("Content-Type header is missing"), "isError": True},
    ]


async def test_an_answer_without_end_is_not_taken() -> None:
    script = Script([Response(b" " * (1024 * 1024 + 1))])
    async with listening(script) as url, hung_up(ada(url), limits=DocSpaceLimits(max_body_bytes=1024 * 1024)) as wall:
        text = await wall.text("get_file_info", FILE)

    told = "the answer is longer than 1 MiB"
    assert text == failed(url, "Making bare fetch.", "Fetching request.", "fetch failed", told)


@pytest.mark.parametrize(("encoding", "bits"), [("gzip", 31), ("deflate", 15), ("deflate", -15), ("identity", 0)])
async def test_a_packed_answer_is_unpacked(encoding: str, bits: int) -> None:
    body = b'{"response":{"id":7},"status":0,"statusCode":200,"links":[]}'
    if bits:
        packing = zlib.compressobj(wbits=bits)
        body = packing.compress(body) + packing.flush()
    headers = {"content-encoding": encoding, "content-type": "application/json"}
    script = Script([Response(body, headers=headers)])
    async with listening(script) as url, hung_up(ada(url)) as wall:
        result = await wall.call("get_file_info", FILE)

    assert result["structuredContent"]["response"] == {"id": 7}
    assert script.asked[0][2]["accept-encoding"] == "gzip, deflate"


@pytest.mark.behaviour("docspace.answers")
@pytest.mark.parametrize(
    ("body", "encoding", "told"),
    [
        (gzip.compress(b" " * 8 * 1024 * 1024, mtime=0), "gzip", "the answer is longer than 1 MiB"),
        (
            gzip.compress(gzip.compress(b" ", mtime=0), mtime=0),
            "gzip, gzip",
            "the answer is packed as 'gzip, gzip', which was not asked for",
        ),
        (b"x", "br", "the answer is packed as 'br', which was not asked for"),
        (b"not packed at all", "gzip", "the answer cannot be unpacked: Error -3 while decompressing data"),
    ],
)
async def test_an_answer_that_is_packed_to_do_harm_is_not_unpacked(body: bytes, encoding: str, told: str) -> None:
    script = Script([Response(body, headers={"content-encoding": encoding})])
    async with listening(script) as url, hung_up(ada(url), limits=DocSpaceLimits(max_body_bytes=1024 * 1024)) as wall:
        text = await wall.text("get_file_info", FILE)

    assert text.startswith(failed(url, "Making bare fetch.", "Fetching request.", "fetch failed", told))


@pytest.mark.behaviour("docspace.answers")
async def test_a_packed_answer_of_several_members_is_read_to_its_end_and_one_that_is_cut_off_is_told() -> None:
    text = b'{"response":{"id":7},"status":0,"statusCode":200,"links":[]}'
    members = gzip.compress(text[:20]) + gzip.compress(text[20:])
    headers = {"content-encoding": "gzip", "content-type": "application/json"}
    bodies = (members, members + b"\0" * 20, members[:-9])
    script = Script([Response(body, headers=headers) for body in bodies])
    async with listening(script) as url, hung_up(ada(url)) as wall:
        results = [await wall.call("get_file_info", FILE) for _ in bodies]

    assert [result.get("structuredContent", {}).get("response") for result in results] == [{"id": 7}, {"id": 7}, None]
    cut = failed(url, "Making bare fetch.", "Fetching request.", "fetch failed", "the answer is cut off in the middle")
    assert results[2] == {"content": [{"type": "text", "text": cut}], "isError": True}


async def test_a_docspace_that_is_not_there_is_named_with_the_reason() -> None:
    async with listening(Script()) as url:
        port = url.rsplit(":", 1)[1].rstrip("/")
    async with hung_up(ada(url)) as wall:
        text = await wall.text("get_file_info", FILE)

    why = f"connect ECONNREFUSED 127.0.0.1:{port}"
    assert text == failed(url, "Making bare fetch.", "Fetching request.", "fetch failed", why)


async def test_a_docspace_that_does_not_answer_is_not_waited_for_without_end() -> None:
    async with stand_in() as docspace:
        docspace.holds.append(Hold())
        async with hung_up(ada(docspace.url), limits=DocSpaceLimits(answer_timeout_s=0.2)) as wall:
            text = await wall.text("get_file_info", FILE)

    assert (
        text.splitlines()[:5]
        == failed(docspace.url, "Making bare fetch.", "Fetching request.", "fetch failed").splitlines()
    )
    assert "answer" in text.splitlines()[5]


async def test_a_call_that_is_given_up_hangs_up_on_docspace() -> None:
    async with stand_in() as docspace, hung_up(ada(docspace.url), limits=QUICK) as wall:
        hold = Hold(path="files/file/101")
        docspace.holds.append(hold)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wall.call, "get_file_info", FILE)
            await hold.reached.wait()
            tasks.cancel_scope.cancel()
        await hold.hung_up.wait()


@pytest.mark.behaviour("docspace.credentials_stay")
async def test_no_secret_is_told_whatever_docspace_says() -> None:
    told = Response('{"success":false,"message":"sk-ada is no key"}')
    async with listening(Script([told])) as url, hung_up(ada(url)) as wall:
        assert await wall.text("get_file_info", FILE) == refused(url, "200 ••• is no key")


async def test_an_address_that_cannot_be_asked_fails_calls_in_words() -> None:
    async with hung_up(ApiMisconfiguration("No password")) as wall:
        assert await wall.call("get_room_types") == {
            "content": [{"type": "text", "text": "No password"}],
            "isError": True,
        }
