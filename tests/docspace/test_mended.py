"""The known defects of DocSpace's own MCP server, mended: each seen by a client of the gateway."""

import base64
import json
from math import inf
from pathlib import Path
from typing import Any

import anyio
import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send
from tests.docspace.stand_in import ADA, Fault, Hold, listening
from tests.docspace.tools import Desk, at_the_desk, said

pytestmark = pytest.mark.anyio
MIB = 1024 * 1024
ID = {"fields": ["id"]}


class Elsewhere:
    """Another host. It keeps what it was asked with."""

    def __init__(self) -> None:
        self.headers: list[dict[str, str]] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.headers.append(dict(Request(scope).headers))
        await PlainTextResponse("kept elsewhere\n")(scope, receive, send)


@pytest.mark.behaviour("docspace.operations")
async def test_an_operation_of_many_polls_is_waited_for_and_its_progress_reaches_the_client(tmp_path: Path) -> None:
    """The recorded server gave up at the twentieth poll."""
    heard: list[tuple[float, float | None]] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, total))

    async with at_the_desk(tmp_path) as desk:
        desk.world.polls = 22
        result = await desk.client.call_tool("delete_folder", {"folderId": 12}, progress_callback=hear)
        assert desk.asked().count("GET files/fileops") == 22
    assert said(result).text == "Folder deleted."
    assert (heard[0], heard[-1]) == ((4.0, 100.0), (100.0, 100.0))
    assert [done for done, _ in heard] == sorted(done for done, _ in heard)


@pytest.mark.behaviour("docspace.operations")
async def test_an_operation_that_outlasts_the_deadline_is_told_to_go_on(tmp_path: Path) -> None:
    async with at_the_desk(tmp_path, deadline=1) as desk:
        desk.world.polls = inf
        late = await desk.call("archive_room", roomId=806)
    first, second, third = late.text.split("\n")
    assert (late.is_error, first, second) == (
        True,
        "Resolving archive room operations.",
        "\t1 out of 1 operations are unresolved.",
    )
    assert third.startswith("\t\tOperation ")
    assert " is at 50 % after 1 seconds. " in third


@pytest.mark.behaviour("docspace.operations")
async def test_an_operation_that_fails_is_told_in_docspaces_own_words(tmp_path: Path) -> None:
    async with at_the_desk(tmp_path) as desk:
        desk.world.fails.append("Quota of\nthe room exceeded")
        failed = await desk.call("copy_batch_items", fileIds=[101], destFolderId=12)
    assert (failed.is_error, failed.text.split("\n")) == (
        True,
        [
            "Resolving copy batch items operations.",
            "\t1 out of 1 operations are unresolved.",
            "\t\tQuota of the room exceeded",
        ],
    )


@pytest.mark.behaviour("docspace.operations")
async def test_a_cancelled_call_hangs_up_on_docspace_and_polls_no_more(tmp_path: Path) -> None:
    async with at_the_desk(tmp_path) as desk:
        desk.world.polls = inf
        hold = Hold("GET", "fileops")
        desk.docspace.holds.append(hold)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(desk.client.call_tool, "delete_folder", {"folderId": 12})
            await hold.reached.wait()
            tasks.cancel_scope.cancel()
        await hold.hung_up.wait()
        desk.docspace.holds.clear()
        desk.asked()
        for _ in range(5):
            await desk.call("get_folder_info", folderId=10, filters=ID)
        assert desk.asked() == ["GET files/folder/10?fields=id"] * 5


@pytest.mark.behaviour("docspace.credentials_stay")
async def test_neither_a_download_nor_a_redirect_takes_credentials_to_another_host(tmp_path: Path) -> None:
    elsewhere = Elsewhere()
    async with listening(elsewhere) as other, at_the_desk(tmp_path) as desk:
        desk.world.downloads_at = other
        downloaded = await desk.call("download_file_as_text", fileId=101)
        desk.docspace.faults.append(Fault(302, "GET", "files/file/101", {"Location": f"{other}away"}))
        await desk.call("get_file_info", fileId=101, filters=ID)
        assert {each.header("authorization") for each in desk.docspace.seen} == {ADA}
    assert downloaded.text == "kept elsewhere\n"
    assert len(elsewhere.headers) == 2
    assert [{"authorization", "cookie"} & set(each) for each in elsewhere.headers] == [set(), set()]


async def uploaded(desk: Desk, **arguments: Any) -> tuple[str, bytes]:
    done = await desk.call("upload_file", parentId=10, **arguments)
    assert not done.is_error, done.text
    file = desk.world.files[json.loads(done.text)["data"]["id"]]
    return file.title, file.content


@pytest.mark.behaviour("docspace.uploads")
async def test_empty_binary_and_large_files_are_uploaded_whole(tmp_path: Path) -> None:
    """One of 11 MiB: over a hundred times the limit of the recorded server, and more than one piece."""
    large = "é" * (11 * MIB // 2)
    binary = bytes(range(256)) * 3
    async with at_the_desk(tmp_path) as desk:
        assert await uploaded(desk, filename="empty.txt", content="") == ("empty.txt", b"")
        encoded = base64.b64encode(binary).decode()
        assert await uploaded(desk, filename="b.png", content=encoded, encoding="base64") == ("b.png", binary)
        desk.asked()
        desk.docspace.faults.append(Fault(503, "POST", "ChunkedUploader", {"Retry-After": "0"}))
        assert await uploaded(desk, filename="large.txt", content=large) == ("large.txt", large.encode())
        # The first piece was refused once; it alone was sent again.
        assert [line.partition("?")[0] for line in desk.asked()] == [
            "POST files/10/upload/create_session",
            *["POST /ChunkedUploader.ashx"] * 3,
        ]


@pytest.mark.behaviour("docspace.culture")
async def test_the_language_of_an_invitation_reaches_docspace(tmp_path: Path) -> None:
    async with at_the_desk(tmp_path) as desk:
        invitations = [{"email": "new@example.com", "access": 11}]
        sent = {"invitations": invitations, "notify": True, "message": "hi", "culture": "de-DE"}
        await desk.call("set_room_security", roomId=802, filters={"fields": []}, **sent)
        assert desk.world.invited == [sent]


NEW = {
    "id": 101,
    "title": None,
    "fileType": 77,
    "access": 12,
    "security": {"Read": True, "Levitate": True},
    "aura": {"colour": "blue"},
}


@pytest.mark.behaviour("docspace.answers")
async def test_nulls_new_members_and_new_choices_in_an_answer_are_passed_on(tmp_path: Path) -> None:
    envelope = {"response": NEW, "links": [], "status": 0, "statusCode": 200, "count": None, "later": [1]}
    async with at_the_desk(tmp_path) as desk:
        desk.docspace.faults.append(Fault(200, "GET", "files/file/101", body=envelope))
        told = await desk.call("get_file_info", fileId=101, filters=ID)
    assert (told.is_error, json.loads(told.text), told.structured) == (False, envelope, envelope)


@pytest.mark.behaviour("docspace.wrong_base_url")
async def test_a_web_page_in_place_of_the_api_is_called_one_with_the_base_url_to_correct(tmp_path: Path) -> None:
    async with at_the_desk(tmp_path) as desk:
        page = Fault(200, headers={"Content-Type": "text/html"}, body="<!DOCTYPE html><title>Sign in</title>")
        desk.docspace.faults.append(page)
        told = await desk.call("get_my_folder", filters={"fields": []})
        url = desk.docspace.url
    assert told.is_error
    assert told.text.split("\n")[-1].strip() == (
        f"This is a web page, not the API of a DocSpace. Check the base URL {url}"
    )


@pytest.mark.behaviour("docspace.busy")
async def test_a_question_is_put_again_to_a_busy_docspace_and_a_change_is_not(tmp_path: Path) -> None:
    async with at_the_desk(tmp_path) as desk:
        for status in (429, 502, 503):
            desk.docspace.faults.append(Fault(status, path="files/", headers={"Retry-After": "0"}, times=2))
            answered = await desk.call("get_folder_info", folderId=10, filters=ID)
            assert (answered.response, desk.asked()) == ({"id": 10}, ["GET files/folder/10?fields=id"] * 3)
        for method, tool, arguments in (
            ("PUT", "update_file", {"fileId": 101, "title": "x.txt"}),
            ("POST", "create_room", {"title": "x", "filters": {"fields": []}}),
            ("DELETE", "delete_folder", {"folderId": 12}),
        ):
            desk.docspace.faults[:] = [Fault(503, method, headers={"Retry-After": "0"})]
            refused = await desk.call(tool, **arguments)
            assert (refused.is_error, refused.text.rsplit(": ", 1)[-1]) == (True, "503 Service Unavailable")
            assert [line.partition(" ")[0] for line in desk.asked()] == [method]
        assert (desk.world.files[101].title, desk.world.folders[12].parent) == ("ada.txt", 10)
