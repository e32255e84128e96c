"""What each of the twenty-three tools does, through a gateway, to a DocSpace that keeps what is done to it."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.docspace.stand_in import ARCHIVE, MY, TRASH
from tests.docspace.tools import Desk, at_the_desk

pytestmark = pytest.mark.anyio
NO_FIELDS: dict[str, Any] = {"fields": []}
FILES = [
    "delete_file",
    "get_file_info",
    "update_file",
    "copy_batch_items",
    "move_batch_items",
    "download_file_as_text",
    "upload_file",
]
FOLDERS = [
    "create_folder",
    "delete_folder",
    "get_folder_content",
    "get_folder_info",
    "rename_folder",
    "get_my_folder",
]
ROOMS = [
    "create_room",
    "get_room_info",
    "update_room",
    "archive_room",
    "set_room_security",
    "get_room_security_info",
    "get_rooms_folder",
    "get_room_types",
    "get_room_access_levels",
]
READ_ONLY = {name for name in (*FILES, *FOLDERS, *ROOMS, "get_all_people") if name.startswith(("get_", "download_"))}


@pytest.mark.behaviour(
    "docspace.toolset.files",
    "docspace.toolset.folders",
    "docspace.toolset.people",
    "docspace.toolset.rooms",
    "docspace.one_operation_per_tool",
)
async def test_each_toolset_has_its_tools_and_tells_which_only_read(tmp_path: Path) -> None:
    async with at_the_desk(tmp_path) as desk:
        listed = (await desk.client.list_tools()).tools
    assert {each.name for each in listed} == {*FILES, *FOLDERS, *ROOMS, "get_all_people"}
    assert {each.name for each in listed if each.annotations and each.annotations.read_only_hint} == READ_ONLY


async def toolset_of(folder: Path, toolset: str) -> list[str]:
    async with at_the_desk(folder, toolsets=[toolset]) as desk:
        return [each.name for each in (await desk.client.list_tools()).tools]


@pytest.mark.behaviour("docspace.toolset.files", "docspace.toolset.people")
async def test_a_toolset_alone_brings_its_tools_alone_in_their_order(tmp_path: Path) -> None:
    assert await toolset_of(tmp_path, "files") == FILES
    assert await toolset_of(tmp_path, "people") == ["get_all_people"]


@pytest.mark.behaviour("docspace.files.get_file_info", "docspace.files.update_file", "docspace.files.delete_file")
async def test_a_file_is_read_named_and_thrown_away_once(tmp_path: Path) -> None:
    async with at_the_desk(tmp_path) as desk:
        facts = await desk.call("get_file_info", fileId=101, filters={"fields": ["id", "title", "createdBy.id"]})
        named = await desk.call("update_file", fileId=101, title="new.txt")
        assert desk.asked() == [
            "GET files/file/101?fields=id&fields=title&fields=createdBy.id",
            "PUT files/file/101",
        ]
        thrown = [await desk.call("delete_file", fileId=101) for _ in range(2)]
        asked = desk.asked()
        assert desk.world.files[101].folder == TRASH
    assert facts.response == {"id": 101, "title": "ada.txt", "createdBy": {"id": desk.world.owner.id}}
    assert facts.structured == json.loads(facts.text)
    assert named.response["title"] == "new.txt"
    assert [each.text for each in thrown] == ["File deleted.", "File is already in the trash folder."]
    looked = ["GET files/@trash", "GET files/file/101"]
    assert asked == [*looked, "DELETE files/file/101", "GET files/fileops", *looked]


@pytest.mark.behaviour("docspace.files.copy_batch_items", "docspace.files.move_batch_items")
async def test_files_and_folders_are_copied_and_moved_in_one_go(tmp_path: Path) -> None:
    async with at_the_desk(tmp_path) as desk:
        copied = await desk.call("copy_batch_items", fileIds=[101], folderIds=[12], destFolderId=806)
        moved = await desk.call("move_batch_items", fileIds=[103], destFolderId=MY)
        world = desk.world
        assert [each.title for each in world.files_in(806)] == ["ada.txt"]
        assert [each.title for each in world.folders_in(806)] == ["Ada's drafts"]
        assert (world.files[103].folder, world.files[101].folder, world.folders[12].parent) == (MY, 10, 10)
        assert desk.docspace.seen[0].json == {
            "folderIds": [12],
            "fileIds": [101],
            "destFolderId": 806,
            "conflictResolveType": 2,
            "deleteAfter": False,
        }
    assert (copied.text, moved.text) == ("Batch items copied.", "Batch items moved.")
    assert (copied.structured, moved.structured) == (None, None)


@pytest.mark.behaviour("docspace.files.download_file_as_text")
async def test_a_file_is_answered_as_text_converted_where_it_is_none(tmp_path: Path) -> None:
    async with at_the_desk(tmp_path) as desk:
        said = {id: await desk.call("download_file_as_text", fileId=id) for id in (101, 103, 104, 106, 108, 109)}
    assert {id: (each.text, each.is_error) for id, each in said.items()} == {
        101: ("Ada wrote this.\n", False),
        103: ("Ada wrote this.\n", False),
        104: ("name,Ada\n", False),
        106: ("No convertible extension found for .pptx.", True),
        108: ("File extension .zip is not convertible.", True),
        109: ("File extension is not defined.", True),
    }


@pytest.mark.behaviour("docspace.files.upload_file")
async def test_a_new_file_is_uploaded_and_never_takes_the_place_of_another(tmp_path: Path) -> None:
    async with at_the_desk(tmp_path) as desk:
        said = [await desk.call("upload_file", parentId=10, filename="ada.txt", content="héllo ✓") for _ in range(2)]
        made = [desk.world.files[json.loads(each.text)["data"]["id"]] for each in said]
        assert [(each.title, each.content) for each in made] == [
            ("ada (1).txt", "héllo ✓".encode()),
            ("ada (2).txt", "héllo ✓".encode()),
        ]
        refused = await desk.call("upload_file", parentId=10, filename="README", content="x")
    assert (refused.text, refused.is_error) == ("File extension is missing in the filename.", True)


@pytest.mark.behaviour(
    "docspace.folders.create_folder",
    "docspace.folders.delete_folder",
    "docspace.folders.get_folder_content",
    "docspace.folders.get_folder_info",
    "docspace.folders.get_my_folder",
    "docspace.folders.rename_folder",
)
async def test_folders_are_made_named_looked_into_and_thrown_away(tmp_path: Path) -> None:
    async with at_the_desk(tmp_path) as desk:
        made = await desk.call("create_folder", parentId=10, title="N", filters=NO_FIELDS)
        id = made.response["id"]
        named = await desk.call("rename_folder", folderId=id, title="M", filters={"fields": ["title"]})
        facts = await desk.call("get_folder_info", folderId=id, filters={"fields": ["title", "parentId"]})
        inside = await desk.call("get_folder_content", folderId=10, filters={"count": 1, "fields": ["folders.title"]})
        thrown = await desk.call("delete_folder", folderId=id)
        mine = await desk.call("get_my_folder", filters={"fields": ["folders.title", "current.id"]})
        assert desk.world.folders[id].parent == TRASH
    assert (named.response, facts.response) == ({"title": "M"}, {"title": "M", "parentId": 10})
    assert inside.response == {"folders": [{"title": "Ada's drafts"}]}
    assert thrown.text == "Folder deleted."
    assert mine.response == {"folders": [{"title": "Ada's plans"}], "current": {"id": MY}}


@pytest.mark.behaviour(
    "docspace.rooms.create_room",
    "docspace.rooms.update_room",
    "docspace.rooms.get_room_info",
    "docspace.rooms.get_rooms_folder",
    "docspace.rooms.archive_room",
)
async def test_rooms_are_made_changed_listed_and_archived(tmp_path: Path) -> None:
    async with at_the_desk(tmp_path) as desk:
        made = await desk.call("create_room", title="R", filters={"fields": ["id", "roomType"]})
        id = made.response["id"]
        changed = await desk.call("update_room", roomId=id, title="S", filters={"fields": ["title"]})
        facts = await desk.call("get_room_info", roomId=id, filters={"fields": ["title", "roomType"]})
        archived = await desk.call("archive_room", roomId=id)
        asking = {"searchArea": "Archive", "type": [6, 8], "fields": ["folders.title"]}
        listed = await desk.call("get_rooms_folder", filters=asking)
        assert desk.asked()[-1] == "GET files/rooms?type=6&type=8&searchArea=Archive&count=30&fields=folders.title"
        assert desk.world.folders[id].parent == ARCHIVE
    assert made.response["roomType"] == 6
    assert (changed.response, facts.response) == ({"title": "S"}, {"title": "S", "roomType": 6})
    assert archived.text == "Room archived."
    assert listed.response == {"folders": [{"title": "S"}]}


async def access(desk: Desk, room: int) -> dict[str, int]:
    shares = (await desk.call("get_room_security_info", roomId=room, filters=NO_FIELDS)).response
    return {each["sharedTo"]["displayName"]: each["access"] for each in shares}


@pytest.mark.behaviour("docspace.rooms.set_room_security", "docspace.rooms.get_room_security_info")
async def test_people_are_invited_to_a_room_and_taken_out_of_it(tmp_path: Path) -> None:
    async with at_the_desk(tmp_path) as desk:
        assert await access(desk, 802) == {"Ada": 9, "Friend of Ada": 10}
        friend = next(id for id, each in desk.world.people.items() if each.name == "Friend of Ada")
        invitations = [{"email": "new@example.com", "access": 11}, {"id": friend, "access": 0}]
        said = await desk.call("set_room_security", roomId=802, invitations=invitations, filters=NO_FIELDS)
        assert await access(desk, 802) == {"Ada": 9, "new": 11}
    assert [each["access"] for each in said.response["members"]] == [9, 11]


@pytest.mark.behaviour("docspace.rooms.get_room_types", "docspace.rooms.get_room_access_levels")
async def test_room_types_and_the_levels_of_each_are_told_with_what_they_mean(tmp_path: Path) -> None:
    async with at_the_desk(tmp_path) as desk:
        types = await desk.call("get_room_types")
        assert desk.asked() == []
        levels = {id: await desk.call("get_room_access_levels", roomId=id) for id in (801, 802, 806)}
    told = [json.loads(each.text) for each in (types, *levels.values())]
    assert [[each["const"] for each in schema["anyOf"]] for schema in told] == [
        [1, 2, 5, 6, 8],
        [7, 9, 11],
        [2, 9, 10, 11],
        [9, 11],
    ]
    assert all(each["description"] for schema in told for each in schema["anyOf"])


@pytest.mark.behaviour("docspace.people.get_all_people")
async def test_people_are_listed_and_looked_for(tmp_path: Path) -> None:
    async with at_the_desk(tmp_path) as desk:
        every = await desk.call("get_all_people", filters={"fields": ["displayName"]})
        asking = {"filterSeparator": "|", "filterValue": "friend|nobody", "fields": ["email"]}
        found = await desk.call("get_all_people", filters=asking)
        assert desk.asked() == [
            "GET people/filter?count=30&fields=displayName",
            "GET people/filter?count=30&filterSeparator=%7C&filterValue=friend%7Cnobody&fields=email",
        ]
    assert every.response == [{"displayName": "Ada"}, {"displayName": "Friend of Ada"}]
    assert found.response == [{"email": "friend@ada.example.com"}]
