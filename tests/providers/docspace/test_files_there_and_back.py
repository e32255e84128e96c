"""Uploads in pieces, and downloads as text."""

import base64
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.responses import JSONResponse, Response
from tests.docspace.stand_in import ADA, Fault, Hold, listening, stand_in
from tests.providers.docspace.calling import Cut, Script, ada, enveloped, hung_up

from pegboard.core.json.values import Json
from pegboard.providers.docspace import files as uploading
from pegboard.providers.docspace import operations
from pegboard.providers.docspace.files import file_extension
from pegboard.providers.docspace.limits import DocSpaceLimits

pytestmark = pytest.mark.anyio
PIECE = "POST /ChunkedUploader.ashx?uid="


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploading, "CHUNK_BYTES", 8)
    monkeypatch.setattr(operations, "_FIRST_POLL_INTERVAL_S", 0.001)


def arguments(content: str, filename: str = "new.txt", **more: Json) -> dict[str, Json]:
    return {"parentId": 10, "filename": filename, "content": content, **more}


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("a.txt", ".txt"),
        ("a.tar.gz", ".gz"),
        ("a.", "."),
        ("noext", ""),
        (".bashrc", ""),
        ("..", ""),
        ("..x", ".x"),
        ("a.b/c", ""),
        ("a/.b", ""),
        ("", ""),
        ("é.md", ".md"),
    ],
)
def test_the_extension_of_a_name_is_what_follows_its_last_dot(name: str, found: str) -> None:
    assert file_extension(name) == found


@pytest.mark.behaviour("docspace.uploads")
@pytest.mark.parametrize("content", ["", "x", "12345678", "123456789", "héllo ✓, und mehr"])
async def test_a_text_is_uploaded_in_pieces_and_is_whole_again(content: str) -> None:
    heard: list[tuple[float, float | None, str | None]] = []
    async with stand_in() as docspace, hung_up(ada(docspace.url)) as wall:
        await wall.text("upload_file", arguments(content), lambda *told: heard.append(told))

        [made] = [file for file in docspace.worlds[ADA].files.values() if file.title == "new.txt"]
        assert made.content == content.encode()
        session, *pieces = docspace.seen
        size = len(content.encode())
        assert session.json == {
            "fileName": "new.txt",
            "fileSize": size,
            "createOn": "2026-01-02T03:04:05.678Z",
            "createNewIfExist": True,
        }
        assert len(pieces) == max(1, -(-size // 8))
        assert all(b"Content-Type: text/plain\r\n" in piece.body for piece in pieces)
    assert heard[-1] == (size, size, None)


@pytest.mark.behaviour("docspace.uploads")
async def test_what_is_not_text_is_uploaded_from_base64() -> None:
    content = bytes(range(256))
    async with stand_in() as docspace, hung_up(ada(docspace.url)) as wall:
        sent = arguments(base64.b64encode(content).decode(), "new.bin", encoding="base64")
        await wall.text("upload_file", sent)

        [made] = [file for file in docspace.worlds[ADA].files.values() if file.title == "new.bin"]
        assert made.content == content
        assert b"Content-Type: application/octet-stream\r\n" in docspace.seen[1].body


@pytest.mark.parametrize(
    ("sent", "told"),
    [
        (arguments("x", "noext"), "File extension is missing in the filename."),
        (
            arguments("%", "a.bin", encoding="base64"),
            "Parsing input.\n\t\tcontent: invalid_format Invalid base64-encoded string",
        ),
        (
            arguments("x", encoding="hex"),
            'Parsing input.\n\t\tencoding: invalid_value Invalid option: expected one of "text"|"base64"',
        ),
    ],
)
async def test_what_cannot_be_uploaded_is_told_before_docspace_is_asked(sent: dict[str, Json], told: str) -> None:
    async with stand_in() as docspace, hung_up(ada(docspace.url)) as wall:
        assert await wall.text("upload_file", sent) == told
        assert docspace.lines() == []


@pytest.mark.behaviour("docspace.uploads")
async def test_a_piece_that_does_not_get_through_is_sent_again_and_no_other() -> None:
    async with stand_in() as docspace, hung_up(ada(docspace.url)) as wall:
        docspace.faults += [
            Fault(503, path="ChunkedUploader", headers={"Retry-After": "0"}),
            Fault(429, path="ChunkedUploader"),
        ]

        await wall.text("upload_file", arguments("12345678abcdefgh!"))

        [made] = [file for file in docspace.worlds[ADA].files.values() if file.title == "new.txt"]
        assert made.content == b"12345678abcdefgh!"
        assert len([line for line in docspace.lines() if line.startswith(PIECE)]) == 5


async def test_no_file_is_sent_on_to_another_host() -> None:
    async with stand_in() as docspace, stand_in() as elsewhere, hung_up(ada(docspace.url)) as wall:
        moved = {"Location": f"{elsewhere.url}ChunkedUploader.ashx"}
        docspace.faults.append(Fault(307, path="ChunkedUploader", headers=moved))

        text = await wall.text("upload_file", arguments("secret"))

        assert text.splitlines()[-1].strip() == (
            f"DocSpace sends the file on to {elsewhere.url.rstrip('/')}, and no file goes to another host"
        )
        assert elsewhere.seen == []


async def test_a_piece_whose_connection_breaks_is_sent_again_but_one_that_is_answered_late_is_not() -> None:
    made = JSONResponse({"success": True, "data": {"id": 1}, "message": ""}, 201)
    session = enveloped({"success": True, "data": {"id": "s"}})
    script = Script([session, Cut(), made])
    async with listening(script) as url, hung_up(ada(url)) as wall:
        assert (await wall.text("upload_file", arguments("x"))).startswith('{\n  "success": true')
    assert script.lines == ["POST /api/2.0/files/10/upload/create_session", *[f"{PIECE}s"] * 2]

    async with stand_in() as docspace:
        hold = Hold(path="ChunkedUploader")
        docspace.holds.append(hold)
        async with hung_up(ada(docspace.url), limits=DocSpaceLimits(operation_timeout_s=0.3)) as wall:
            text = await wall.text("upload_file", arguments("x"))
        assert text.startswith("Uploading file.\n\tUploading chunk 1 of 1.\n\t\tFetching request.")
        assert len([line for line in docspace.lines() if line.startswith(PIECE)]) <= 1


async def test_a_piece_that_never_gets_through_ends_the_upload() -> None:
    async with stand_in() as docspace, hung_up(ada(docspace.url)) as wall:
        docspace.faults.append(Fault(502, path="ChunkedUploader", times=9))

        text = await wall.text("upload_file", arguments("x"))

        pieces = [line for line in docspace.lines() if line.startswith(PIECE)]
        assert len(pieces) == 4
        at = pieces[0].removeprefix("POST /")
        assert text == (
            "Uploading file.\n\tUploading chunk 1 of 1.\n\t\tFetching request.\n\t\t\tMaking bare fetch."
            f"\n\t\t\t\tChecking response.\n\t\t\t\t\tPOST {docspace.url}{at}: 502 Bad Gateway"
        )


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (
            JSONResponse({"success": True, "data": {"bytes_uploaded": 1}, "message": ""}),
            "Uploading file.\n\tUpload session not completed.",
        ),
        (
            JSONResponse({"success": True, "data": {"bytes_uploaded": 2}, "message": ""}),
            "Uploading file.\n\tDocSpace has 2 bytes of the file where 1 were sent. Upload it again.",
        ),
        (
            JSONResponse({"success": False, "message": "Too late"}),
            "Uploading file.\n\tUploading chunk 1 of 1.\n\t\tFetching request.\n\t\t\tMaking bare fetch."
            "\n\t\t\t\tChecking response.\n\t\t\t\t\tPOST {url}ChunkedUploader.ashx?uid=a+b%26c: 200 Too late",
        ),
    ],
)
async def test_an_upload_that_docspace_does_not_complete_is_told(answer: Response, told: str) -> None:
    script = Script([enveloped({"success": True, "data": {"id": "a b&c"}}), answer])
    async with listening(script) as url, hung_up(ada(url)) as wall:
        assert await wall.text("upload_file", arguments("x")) == told.replace("{url}", url)


@pytest.mark.parametrize(
    ("response", "told"),
    [
        ({"data": {"path": []}}, "Upload session ID is not defined."),
        ({"success": False, "message": "Full"}, "Upload session ID is not defined.\n\tFull"),
        ({"id": None}, "Upload session ID is not defined."),
    ],
)
async def test_a_session_without_an_id_is_told(response: Any, told: str) -> None:
    async with listening(Script([enveloped(response)])) as url, hung_up(ada(url)) as wall:
        assert await wall.text("upload_file", arguments("x")) == told


@given(st.text(max_size=60), st.integers(1, 20))
@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_whatever_is_uploaded_arrives_whole(content: str, piece: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(uploading, "CHUNK_BYTES", piece)
        async with stand_in() as docspace, hung_up(ada(docspace.url)) as wall:
            await wall.text("upload_file", arguments(content))

            [made] = [file for file in docspace.worlds[ADA].files.values() if file.title == "new.txt"]
            assert made.content == content.encode()


@pytest.mark.parametrize(
    ("file", "told"),
    [
        (101, "Ada wrote this.\n"),
        (103, "Ada wrote this.\n"),
        (104, "name,Ada\n"),
        (106, "No convertible extension found for .pptx."),
        (108, "File extension .zip is not convertible."),
        (109, "File extension is not defined."),
    ],
)
async def test_a_file_is_read_as_text_where_it_is_or_can_become_one(file: int, told: str) -> None:
    async with stand_in() as docspace, hung_up(ada(docspace.url)) as wall:
        assert await wall.text("download_file_as_text", {"fileId": file}) == told


@pytest.mark.behaviour("docspace.credentials_stay")
async def test_a_download_from_another_host_gets_no_credentials() -> None:
    away = Script([Response("over there")])
    async with listening(away) as elsewhere, stand_in() as docspace, hung_up(ada(docspace.url)) as wall:
        docspace.worlds[ADA].downloads_at = elsewhere

        assert await wall.text("download_file_as_text", {"fileId": 101}) == "over there"
        [(_, _, headers, _)] = away.asked
        assert (headers.get("authorization"), headers.get("cookie"), headers["accept"]) == (None, None, "text/plain")


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (Response(b"\xef\xbb\xbfa\xffb"), "a\ufffdb"),
        (Response("{}", media_type="application/json"), "{}"),
        (Response("gone", 404), "Downloading file.\n\tChecking response.\n\t\tGET {url}f: 404 Not Found"),
        (
            Response('{"success":false,"message":"No"}'),
            "Downloading file.\n\tChecking response.\n\t\tGET {url}f: 200 No",
        ),
        (
            Response("x" * 1025),
            "Downloading file.\n\tFetching request.\n\t\tfetch failed\n\t\t\tthe answer is longer than 0 MiB",
        ),
    ],
)
async def test_what_is_downloaded_is_text_whatever_it_is(answer: Response, told: str) -> None:
    done = {"id": "op-1", "progress": 100, "finished": True}
    script = Script([enveloped({"fileExst": ".txt"}), enveloped([done])])
    async with listening(script) as url, hung_up(ada(url), limits=DocSpaceLimits(max_download_bytes=1024)) as wall:
        script.answers += [enveloped([{**done, "url": f"{url}f"}]), answer]

        assert await wall.text("download_file_as_text", {"fileId": 1}) == told.replace("{url}", url)


@pytest.mark.parametrize(
    ("polled", "told"),
    [
        ([], "No resolved operations."),
        ([{"id": "op-1", "progress": 100}], "Resolved operation has no URL."),
        (
            [{"id": "op-1", "progress": 100, "url": "/dl/text"}],
            "Creating download request.\n\tCreating request.\n\t\tFailed to parse URL from /dl/text\n\t\t\tInvalid URL",
        ),
        (
            [{"id": "op-1", "progress": 100, "url": "ftp://a/b"}],
            "Downloading file.\n\tFetching request.\n\t\tfetch failed\n\t\t\tunknown scheme",
        ),
    ],
)
async def test_a_download_that_lies_nowhere_is_told(polled: Any, told: str) -> None:
    started = [{"id": "op-1", "progress": 100, "finished": True}]
    script = Script([enveloped({"fileExst": ".csv"}), enveloped(started), enveloped(polled)])
    async with listening(script) as url, hung_up(ada(url)) as wall:
        assert await wall.text("download_file_as_text", {"fileId": 1}) == told
