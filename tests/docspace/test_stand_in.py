"""The stand-in itself, asked by a plain HTTP client: it behaves as recorded before anything leans on it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from math import inf
from typing import Any

import anyio
import httpx2
import pytest
from tests.docspace.stand_in import ADA, ARCHIVE, BASIC, BOB, PAT, TRASH, Fault, Hold, StandIn, stand_in

pytestmark = pytest.mark.anyio
PATIENCE = 30


@asynccontextmanager
async def asked(authorization: str = ADA, **changes: Any) -> AsyncIterator[tuple[StandIn, httpx2.AsyncClient]]:
    cookies = {} if " " in authorization else {"Cookie": f"asc_auth_key={authorization}"}
    with anyio.fail_after(PATIENCE):
        async with (
            stand_in(**changes) as docspace,
            httpx2.AsyncClient(
                base_url=docspace.url, headers={"Authorization": authorization, **cookies}, trust_env=False
            ) as client,
        ):
            yield docspace, client


def response(answer: httpx2.Response) -> Any:
    body = answer.json()
    assert (answer.status_code, body["status"], body["statusCode"]) == (200, 0, 200)
    assert [sorted(link) for link in body["links"]] == [["action", "href"]]
    return body["response"]


def wrong(answer: httpx2.Response) -> tuple[int, str]:
    body = answer.json()
    assert sorted(body["error"]) == ["hresult", "message", "stack", "type"]
    return answer.status_code, body["error"]["message"]


@pytest.mark.parametrize(("authorization", "title"), [(ADA, "ada"), (PAT, "ada"), (BASIC, "ada"), (BOB, "bob")])
async def test_each_credential_opens_its_own_world(authorization: str, title: str) -> None:
    async with asked(authorization) as (_, client):
        assert response(await client.get("api/2.0/files/file/101"))["title"] == f"{title}.txt"


async def test_no_credential_and_a_token_without_its_cookie_are_unauthorised() -> None:
    async with asked("Bearer nobody") as (docspace, client):
        statuses = [(await client.get("api/2.0/files/@my")).status_code]
        for authorization in (PAT, ""):
            answer = await client.get("api/2.0/files/@my", headers={"Authorization": authorization})
            statuses.append(answer.status_code)
        assert statuses == [401, 401, 401]
        assert docspace.lines() == ["GET /api/2.0/files/@my"] * 3


async def test_a_deletion_ends_in_the_trash_at_its_second_poll() -> None:
    async with asked() as (docspace, client):
        begun = response(await client.request("DELETE", "api/2.0/files/file/101", json={"immediately": False}))
        polls = [response(await client.get("api/2.0/files/fileops"))[0] for _ in range(2)]
        assert [(each["progress"], each["finished"]) for each in (*begun, *polls)] == [
            (0, False),
            (50, False),
            (100, True),
        ]
        assert docspace.worlds[ADA].files[101].folder == TRASH
        trash = response(await client.get("api/2.0/files/@trash"))
        assert trash["current"]["id"] == TRASH
        assert [each["id"] for each in trash["files"]] == [101, 102]


async def test_an_operation_fails_as_ordered_and_one_without_end_ends_when_told() -> None:
    async with asked() as (docspace, client):
        world = docspace.worlds[ADA]
        world.fails.append("The disk is full")
        world.polls = inf
        body = {"fileIds": [101], "destFolderId": 12}
        for _ in range(2):
            await client.put("api/2.0/files/fileops/move", json=body)
        failed, endless = response(await client.get("api/2.0/files/fileops"))
        assert (failed["error"], failed["finished"]) == ("The disk is full", False)
        assert (endless["error"], endless["progress"]) == ("", 50)
        world.finish()
        assert [each["finished"] for each in response(await client.get("api/2.0/files/fileops"))] == [False, True]
        assert world.files[101].folder == 12


async def test_a_copied_folder_brings_what_is_in_it() -> None:
    async with asked() as (docspace, client):
        docspace.worlds[ADA].polls = 1
        await client.put("api/2.0/files/fileops/copy", json={"folderIds": [12], "destFolderId": 806})
        await client.get("api/2.0/files/fileops")
        (copied,) = response(await client.get("api/2.0/files/806"))["folders"]
        inside = response(await client.get(f"api/2.0/files/{copied['id']}"))
        assert [each["title"] for each in inside["files"]] == ["ada.csv", "ada.zip", "no extension"]


async def test_a_file_is_uploaded_in_chunks_and_a_taken_name_gets_a_number() -> None:
    async with asked() as (docspace, client):
        session = {"fileName": "ada.txt", "fileSize": 5, "createOn": "2026-01-01T00:00:00.000Z"}
        begun = response(await client.post("api/2.0/files/10/upload/create_session", json=session))
        uid = begun["data"]["id"]
        answers = [
            await client.post(f"ChunkedUploader.ashx?uid={uid}", files={"file": ("blob", part, "text/plain")})
            for part in (b"he\x00", b"\xfflo", b"again")
        ]
        assert [each.status_code for each in answers] == [200, 200, 200]
        assert [each.json()["success"] for each in answers] == [True, False, False]
        last = await client.post(f"ChunkedUploader.ashx?uid={uid}", files={"file": ("blob", b"lo", "text/plain")})
        assert (last.status_code, last.json()["data"]["title"]) == (201, "ada (1).txt")
        assert docspace.worlds[ADA].files[last.json()["data"]["id"]].content == b"he\x00lo"


async def test_a_download_lies_where_its_operation_says_and_only_for_its_owner() -> None:
    async with asked() as (_, client):
        await client.put("api/2.0/files/fileops/bulkdownload", json={"fileConvertIds": [{"key": 103, "value": ".txt"}]})
        await client.get("api/2.0/files/fileops")
        (ended,) = response(await client.get("api/2.0/files/fileops"))
        assert (await client.get(ended["url"])).text == "Ada wrote this.\n"
        assert wrong(await client.get(ended["url"], headers={"Authorization": BOB})) == (
            404,
            "The required file was not found",
        )


async def test_rooms_are_made_archived_and_opened_to_people() -> None:
    async with asked() as (docspace, client):
        docspace.worlds[ADA].polls = 1
        made = response(await client.post("api/2.0/files/rooms", json={"title": "New", "roomType": 8}))
        assert (made["title"], made["roomType"]) == ("New", 8)
        body = {"invitations": [{"email": "new@example.com", "access": 11}], "culture": "de"}
        members = response(await client.put(f"api/2.0/files/rooms/{made['id']}/share", json=body))["members"]
        assert [(each["sharedTo"]["displayName"], each["access"]) for each in members] == [("Ada", 9), ("new", 11)]
        assert docspace.worlds[ADA].invited == [body]
        begun = response(await client.put(f"api/2.0/files/rooms/{made['id']}/archive", json={}))
        assert begun["finished"] is False
        await client.get("api/2.0/files/fileops")
        assert docspace.worlds[ADA].folders[made["id"]].parent == ARCHIVE
        archived = response(await client.get("api/2.0/files/rooms?searchArea=Archive"))
        assert [each["title"] for each in archived["folders"]] == ["New"]


async def test_lists_are_paged_sorted_and_cut_to_the_fields_asked_for() -> None:
    async with asked() as (_, client):
        asking = {"count": "2", "startIndex": "1", "sortBy": "AZ", "fields": ["files.title", "total"]}
        assert response(await client.get("api/2.0/files/10", params=asking)) == {
            "files": [{"title": "ada.docx"}, {"title": "ada.pptx"}],
            "total": 5,
        }
        people = (await client.get("api/2.0/people/filter?filterValue=friend&fields=displayName")).json()
        assert (people["response"], people["total"]) == ([{"displayName": "Friend of Ada"}], 1)


async def test_what_is_not_there_not_allowed_or_not_understood_is_told_in_the_shape_of_errors() -> None:
    async with asked() as (docspace, client):
        docspace.worlds[ADA].forbidden.add(12)
        assert [
            wrong(await client.get("api/2.0/files/file/404")),
            wrong(await client.get("api/2.0/files/folder/1.5")),
            wrong(await client.get("api/2.0/files/rooms/10")),
            wrong(await client.request("DELETE", "api/2.0/files/folder/12", json={})),
            wrong(await client.post("api/2.0/files/rooms", json={"title": "x", "roomType": 3})),
            wrong(await client.put("api/2.0/files/file/101", content=b"{")),
            wrong(await client.get("api/3.0/files")),
        ] == [
            (404, "The required file was not found"),
            (404, "The required folder was not found"),
            (404, "The required room was not found"),
            (403, "No rights"),
            (400, "The value 3 is not valid for roomType"),
            (400, "The request body is not JSON"),
            (404, "Not found: /api/3.0/files"),
        ]


async def test_ordered_faults_answer_so_many_requests_and_no_more() -> None:
    async with asked() as (docspace, client):
        docspace.faults.append(Fault(503, "GET", "files/@my", {"Retry-After": "0"}, times=2))
        answers = [await client.get(f"api/2.0/files/{which}") for which in ("@my", "@trash", "@my", "@my")]
        assert [each.status_code for each in answers] == [503, 200, 503, 200]
        assert answers[0].headers["retry-after"] == "0"


async def test_a_held_request_is_seen_to_wait_and_to_be_given_up() -> None:
    async with asked() as (docspace, client):
        hold = Hold("GET", "files/@my")
        docspace.holds.append(hold)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client.get, "api/2.0/files/@my")
            await hold.reached.wait()
            tasks.cancel_scope.cancel()
        await hold.hung_up.wait()


async def test_the_api_may_live_below_a_path() -> None:
    async with asked(prefix="portal/") as (_, client):
        assert response(await client.get("portal/api/2.0/people/@self"))["displayName"] == "Ada"
        assert wrong(await client.get("api/2.0/people/@self"))[0] == 404
