"""What DocSpace does in the background: waited for, told of, and given up."""

from math import inf
from typing import Any

import anyio
import pytest
from tests.docspace.stand_in import ADA, ARCHIVE, TRASH, Fault, Hold, listening, stand_in
from tests.providers.docspace.calling import Cut, Script, ada, enveloped, hung_up

from pegboard.providers.docspace import operations
from pegboard.providers.docspace.limits import DocSpaceLimits

pytestmark = pytest.mark.anyio
POLL = "GET /api/2.0/files/fileops"


@pytest.fixture(autouse=True)
def without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operations, "_FIRST_POLL_INTERVAL_S", 0.001)


def operation(progress: float, **more: Any) -> dict[str, Any]:
    return {"id": "op-1", "progress": progress, "error": "", "finished": False, **more}


@pytest.mark.behaviour("docspace.operations")
async def test_an_operation_is_polled_until_it_is_done_and_progress_is_told() -> None:
    heard: list[tuple[float, float | None, str | None]] = []
    async with stand_in() as docspace, hung_up(ada(docspace.url)) as wall:
        docspace.worlds[ADA].polls = 4

        text = await wall.text("delete_folder", {"folderId": 12}, lambda *told: heard.append(told))

        assert text == "Folder deleted."
        assert docspace.worlds[ADA].folders[12].parent == TRASH
        assert docspace.lines() == ["DELETE /api/2.0/files/folder/12", *[POLL] * 4]
    assert [done for done, _, _ in heard] == sorted({done for done, _, _ in heard})
    assert [heard[-1], {of for _, of, _ in heard}] == [(100.0, 100.0, None), {100.0}]


async def test_progress_is_told_only_when_it_grows() -> None:
    heard: list[float] = []
    steps = [0, 0, 30, 20, 60, 60, 100]
    script = Script([enveloped([operation(0)]), *(enveloped([operation(step)]) for step in steps)])
    async with listening(script) as url, hung_up(ada(url)) as wall:
        await wall.text("delete_folder", {"folderId": 1}, lambda done, *_: heard.append(done))

    assert heard == [0, 30, 60, 100]


@pytest.mark.behaviour("docspace.operations")
async def test_an_operation_that_takes_more_than_twenty_polls_is_waited_for_all_the_same() -> None:
    async with stand_in() as docspace, hung_up(ada(docspace.url)) as wall:
        docspace.worlds[ADA].polls = 25

        assert await wall.text("archive_room", {"roomId": 806}) == "Room archived."
        assert docspace.worlds[ADA].folders[806].parent == ARCHIVE
        assert docspace.lines().count(POLL) == 25


@pytest.mark.behaviour("docspace.operations")
async def test_an_operation_that_fails_is_told_with_its_own_error() -> None:
    async with stand_in() as docspace, hung_up(ada(docspace.url)) as wall:
        docspace.worlds[ADA].fails.append("The disk is full")

        assert await wall.text("copy_batch_items", {"fileIds": [101], "destFolderId": 12}) == (
            "Resolving copy batch items operations.\n\t1 out of 1 operations are unresolved.\n\t\tThe disk is full"
        )


async def test_an_operation_that_takes_too_long_is_told_to_go_on() -> None:
    async with (
        stand_in() as docspace,
        hung_up(ada(docspace.url), limits=DocSpaceLimits(operation_timeout_s=0.3)) as wall,
    ):
        docspace.worlds[ADA].polls = inf

        text = await wall.text("move_batch_items", {"fileIds": [101], "destFolderId": 12})

    first, second, third = text.split("\n")
    assert (first, second) == (
        "Resolving move batch items operations.",
        "\t1 out of 1 operations are unresolved.",
    )
    assert third.startswith("\t\tOperation ")
    assert third.endswith("after 0.3 seconds. DocSpace goes on with it; look again later.")


@pytest.mark.behaviour("docspace.operations")
async def test_a_call_that_is_given_up_stops_polling_at_once() -> None:
    async with stand_in() as docspace, hung_up(ada(docspace.url)) as wall:
        docspace.worlds[ADA].polls = inf
        hold = Hold(path="fileops")
        docspace.holds.append(hold)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wall.call, "delete_folder", {"folderId": 12})
            await hold.reached.wait()
            tasks.cancel_scope.cancel()
        await hold.hung_up.wait()

        assert docspace.lines() == ["DELETE /api/2.0/files/folder/12", POLL]


async def test_an_operation_that_no_poll_tells_of_is_given_up_after_twenty() -> None:
    script = Script([enveloped([operation(0)]), *(enveloped([]) for _ in range(20))])
    async with listening(script) as url, hung_up(ada(url)) as wall:
        assert await wall.text("delete_folder", {"folderId": 1}) == (
            "Resolving delete folder operations.\n\t1 out of 1 operations are unresolved.\n"
            "\t\tDocSpace tells nothing more of operation op-1, which may be done. Look before you try again."
        )

    assert script.lines.count(POLL) == 20


async def test_what_was_done_stays_done_although_docspace_forgets_it() -> None:
    first, second = operation(0), operation(0, id="op-2")
    script = Script(
        [
            enveloped([first, second]),
            enveloped([operation(100), operation(10, id="op-2")]),
            enveloped([operation(20, id="op-2")]),
            enveloped([operation(30, id="op-2", finished=True)]),
        ]
    )
    async with listening(script) as url, hung_up(ada(url)) as wall:
        assert await wall.text("delete_folder", {"folderId": 1}) == "Folder deleted."


@pytest.mark.parametrize(
    ("started", "told"),
    [
        ([], "Resolving delete folder operations.\n\tNo operations to sync."),
        (
            {},
            "Deleting folder.\n\tParsing response.\n\t\t\tinvalid_type: Invalid input: expected array, received object",
        ),
        (
            [{"id": 5, "progress": "x"}],
            "Deleting folder.\n\tParsing response."
            "\n\t\t\t0].id: invalid_type Invalid input: expected string, received number"
            "\n\t\t\t0].progress: invalid_type Invalid input: expected number, received string",
        ),
    ],
)
async def test_a_start_that_starts_nothing_is_told(started: Any, told: str) -> None:
    async with listening(Script([enveloped(started)])) as url, hung_up(ada(url)) as wall:
        assert await wall.text("delete_folder", {"folderId": 1}) == told


async def test_nulls_in_an_operation_are_no_reason_to_fail() -> None:
    nulls = {"id": "op-1", "progress": 100, "error": None, "finished": None, "url": None}
    async with listening(Script([enveloped([nulls]), enveloped([nulls])])) as url, hung_up(ada(url)) as wall:
        assert await wall.text("delete_folder", {"folderId": 1}) == "Folder deleted."


async def test_a_poll_that_is_refused_ends_the_waiting_and_one_that_is_too_early_does_not() -> None:
    no = {"status": 1, "statusCode": 403, "error": {"message": "No", "type": "t", "stack": "", "hresult": -1}}
    async with stand_in() as docspace, hung_up(ada(docspace.url)) as wall:
        docspace.faults += [
            Fault(503, path="fileops", headers={"Retry-After": "0"}),
            Fault(403, path="fileops", body=no),
        ]

        assert await wall.text("delete_folder", {"folderId": 12}) == (
            "Resolving delete folder operations.\n\tResolving operations.\n\t\tCalling operation statuses callback."
            "\n\t\t\tFetching request.\n\t\t\t\tMaking bare fetch.\n\t\t\t\t\tChecking response."
            f"\n\t\t\t\t\t\tGET {docspace.url}api/2.0/files/fileops: 403 No"
        )


async def test_a_connection_that_breaks_while_polling_is_made_again() -> None:
    script = Script([enveloped([operation(0)]), Cut(), enveloped([operation(100)])])
    async with listening(script) as url, hung_up(ada(url)) as wall:
        assert await wall.text("delete_folder", {"folderId": 1}) == "Folder deleted."


async def test_a_file_that_is_in_the_trash_already_stays_there_and_one_without_a_place_is_told() -> None:
    async with stand_in() as docspace, hung_up(ada(docspace.url)) as wall:
        assert await wall.text("delete_file", {"fileId": 102}) == "File is already in the trash folder."
        assert await wall.text("delete_file", {"fileId": 101}) == "File deleted."
        assert docspace.worlds[ADA].files[101].folder == TRASH
        docspace.faults.append(Fault(200, path="@trash", body=_envelope({"current": {"id": None}})))
        assert await wall.text("delete_file", {"fileId": 103}) == "Trash folder ID is not defined."
        docspace.faults.append(Fault(200, path="@trash", body=_envelope({"current": None})))
        assert await wall.text("delete_file", {"fileId": 103}) == "Trash folder is not defined."
        docspace.faults.append(Fault(200, path="file/103", body=_envelope({"folderId": None})))
        assert await wall.text("delete_file", {"fileId": 103}) == "File folder ID is not defined."


def _envelope(response: Any) -> Any:
    return {"response": response, "status": 0, "statusCode": 200, "links": []}
