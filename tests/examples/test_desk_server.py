"""The desk of the demo board keeps notes faithfully, and no input leads out of its folder."""

import os
from datetime import datetime
from pathlib import Path

import anyio
import jsonschema_rs
import pytest
from mcp import Client
from tests.examples.demo import DEADLINE, FOLDER, answer, client_of, desk, entries_in, files_in, refusal
from tests.support.fork_server import python

pytestmark = pytest.mark.anyio
ACCENT_COMPOSED, ACCENT_COMBINED = "caf\u00e9", "cafe\u0301"


async def names_in(client: Client, **arguments: object) -> list[str]:
    return [note["name"] for note in (await answer(client, "list_notes", **arguments))["notes"]]


async def test_a_note_is_written_read_extended_moved_and_deleted(tmp_path: Path) -> None:
    async with desk(tmp_path) as client:
        written = await answer(client, "write_note", name="trips/rome", text="Pack the map.")
        assert datetime.fromisoformat(written.pop("changed")).utcoffset() is not None
        assert written == {"name": "trips/rome", "bytes": 13, "created": True}
        assert (await answer(client, "append_note", name="trips/rome", text="And a hat.\n"))["created"] is False
        assert (await answer(client, "append_note", name="trips/rome", text="Zwei Hüte.\n"))["bytes"] == 37
        text = "Pack the map.\nAnd a hat.\nZwei Hüte.\n"
        assert (await answer(client, "read_note", name="trips/rome"))["text"] == text
        assert files_in(tmp_path) == {"trips/rome.md": text}
        moved = await answer(client, "move_note", name="trips/rome", new_name="done/2024/Rom, endlich")
        assert moved == {"old_name": "trips/rome", "new_name": "done/2024/Rom, endlich"}
        assert entries_in(tmp_path) == ["done"]
        assert (await answer(client, "delete_note", name="done/2024/Rom, endlich"))["bytes"] == 37
        assert entries_in(tmp_path) == []


async def test_writing_a_note_again_replaces_it_whole(tmp_path: Path) -> None:
    async with desk(tmp_path) as client:
        await answer(client, "write_note", name="list", text="a long first version")
        assert (await answer(client, "write_note", name="list", text="")) | {"changed": ""} == {
            "name": "list",
            "bytes": 0,
            "changed": "",
            "created": False,
        }
        await answer(client, "append_note", name="list", text="\r\n\ttabs\0and all 🪵")
        assert files_in(tmp_path) == {"list.md": "\r\n\ttabs\0and all 🪵"}


async def test_notes_are_listed_in_order_and_by_folder(tmp_path: Path) -> None:
    async with desk(tmp_path) as client:
        assert await names_in(client) == []
        for name in ("b", "trips/rome", "a", "trips/oslo", "tripsy"):
            await answer(client, "write_note", name=name, text=name)
        assert sorted(await names_in(client)) == ["a", "b", "trips/oslo", "trips/rome", "tripsy"]
        assert await names_in(client, folder="trips") == ["trips/oslo", "trips/rome"]
        assert await names_in(client, folder="/trips/") == ["trips/oslo", "trips/rome"]
        assert await names_in(client, folder="../..") == []


async def test_a_name_is_one_note_however_its_accent_was_typed(tmp_path: Path) -> None:
    async with desk(tmp_path) as client:
        await answer(client, "write_note", name=ACCENT_COMBINED, text="one")
        await answer(client, "append_note", name=ACCENT_COMPOSED, text="two")
        assert await names_in(client) == [ACCENT_COMPOSED]
        assert (await answer(client, "read_note", name=ACCENT_COMBINED))["text"] == "one\ntwo"


HOSTILE_NAMES = [
    *("", " ", ".", "..", "../secret", "a/../../secret", "a/..", "/etc/passwd", "//etc/passwd", "a//b", "a/", "~/.x"),
    *(
        "..\\secret",
        "C:\\secret",
        "C:secret",
        ".hidden",
        "a/.hidden",
        "nul\0byte",
        "line\nbreak",
        "line\n",
        "\u202etxt",
    ),
    *("\u200b", "x" * 201, "\u6728" * 67, "a/b/c/d/e", "what?", "*", "a" * 1_000_000),
]


async def test_no_name_leads_off_the_desk(tmp_path: Path) -> None:
    folder = tmp_path / "desk"
    (tmp_path / "secret.md").write_text("keep out")
    async with desk(folder) as client:
        await answer(client, "write_note", name="mine", text="as it was")
        for name in HOSTILE_NAMES:
            for tool, arguments in (
                ("read_note", {"name": name}),
                ("write_note", {"name": name, "text": "mine now"}),
                ("append_note", {"name": name, "text": "mine now"}),
                ("delete_note", {"name": name}),
                ("move_note", {"name": name, "new_name": "taken"}),
                ("move_note", {"name": "mine", "new_name": name}),
            ):
                assert len(await refusal(client, tool, **arguments)) < 1_000
    assert files_in(tmp_path) == {"secret.md": "keep out", "desk/mine.md": "as it was"}


async def test_the_published_schema_alone_keeps_a_name_on_the_desk(tmp_path: Path) -> None:
    async with desk(tmp_path) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    schema = jsonschema_rs.Draft202012Validator(tools["read_note"].input_schema)
    for name in ("shopping", "trips/rome 2024", "größe/木", "v1.2_final-final", "~"):
        assert schema.is_valid({"name": name})
    for name in ("", "..", "../secret", "a/../b", "/etc/passwd", "a//b", "a/", "..\\secret", "nul\0byte", "line\n"):
        assert not schema.is_valid({"name": name})


async def test_a_link_planted_on_the_desk_is_not_followed_out_of_it(tmp_path: Path) -> None:
    outside, folder = tmp_path / "outside", tmp_path / "desk"
    outside.mkdir()
    folder.mkdir()
    (outside / "secret.md").write_text("keep out")
    (folder / "door").symlink_to(outside)
    (folder / "window.md").symlink_to(outside / "secret.md")
    async with desk(folder) as client:
        for name in ("door/secret", "window"):
            assert "leads out of the desk" in await refusal(client, "read_note", name=name)
            assert "leads out of the desk" in await refusal(client, "write_note", name=name, text="mine now")
            assert "leads out of the desk" in await refusal(client, "delete_note", name=name)
        assert "leads out of the desk" in await refusal(client, "write_note", name="door/new", text="mine now")
        assert await names_in(client) == []
    assert files_in(outside) == {"secret.md": "keep out"}


async def test_the_desk_refuses_what_it_cannot_do_and_leaves_everything_as_it_was(tmp_path: Path) -> None:
    async with desk(tmp_path) as client:
        await answer(client, "write_note", name="full", text="x" * 999_999)
        await answer(client, "write_note", name="folder.md/inside", text="a folder that looks like a note")
        before = files_in(tmp_path)
        assert "there is no note 'gone'" in await refusal(client, "read_note", name="gone")
        assert "there is no note 'gone'" in await refusal(client, "delete_note", name="gone")
        assert "there is no note 'gone'" in await refusal(client, "move_note", name="gone", new_name="here")
        assert "already" in await refusal(client, "move_note", name="full", new_name="full")
        assert "already" in await refusal(client, "move_note", name="full", new_name="folder.md/inside")
        assert "Split it into several" in await refusal(client, "append_note", name="full", text="xx")
        assert "Split it into several" in await refusal(client, "write_note", name="full", text="é" * 600_000)
        assert "at most 1000000 characters" in await refusal(client, "write_note", name="a", text="x" * 1_000_001)
        assert "Is a directory" in await refusal(client, "write_note", name="folder", text="no room")
        assert "Field required" in await refusal(client, "write_note", name="no text")
        assert "valid string" in await refusal(client, "write_note", name="a", text=7)
        assert files_in(tmp_path) == before


async def test_a_desk_that_is_full_takes_no_new_note_but_lets_you_change_the_old(tmp_path: Path) -> None:
    for number in range(1_000):
        (tmp_path / f"{number}.md").touch()
    async with desk(tmp_path) as client:
        assert "the desk is full" in await refusal(client, "write_note", name="one more", text="")
        assert (await answer(client, "append_note", name="999", text="still fine"))["bytes"] == 10


async def test_a_file_too_large_to_be_a_note_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "foreign.md").write_bytes(b"x" * 1_000_001)
    async with desk(tmp_path) as client:
        assert "more than 1000000 bytes" in await refusal(client, "read_note", name="foreign")


async def test_lines_appended_at_the_same_time_are_all_kept(tmp_path: Path) -> None:
    async with desk(tmp_path) as client:
        async with anyio.create_task_group() as tasks:

            async def append(line: str) -> None:
                await answer(client, "append_note", name="queue", text=line)

            for number in range(50):
                tasks.start_soon(append, f"line {number}")
        text = (await answer(client, "read_note", name="queue"))["text"]
    assert sorted(text.splitlines()) == sorted(f"line {number}" for number in range(50))
    assert list(files_in(tmp_path)) == ["queue.md"]


async def test_a_draft_left_by_a_killed_server_is_no_note(tmp_path: Path) -> None:
    (tmp_path / ".8x1k.draft").write_text("half a th")
    async with desk(tmp_path) as client:
        assert await names_in(client) == []


async def test_notes_are_there_again_after_a_restart(tmp_path: Path) -> None:
    async with desk(tmp_path) as client:
        await answer(client, "write_note", name="kept", text="yes")
    async with desk(tmp_path) as client:
        assert (await answer(client, "read_note", name="kept"))["text"] == "yes"


async def test_without_a_folder_the_desk_is_temporary_and_leaves_nothing(tmp_path: Path) -> None:
    async with client_of("desk_server.py", {"TMPDIR": str(tmp_path)}) as client:
        await answer(client, "write_note", name="fleeting", text="gone soon")
        assert [Path(file).name for file in files_in(tmp_path)] == ["fleeting.md"]
    assert entries_in(tmp_path) == []


async def test_a_desk_whose_folder_cannot_be_used_says_so_and_ends(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with anyio.fail_after(DEADLINE):
        ended = await anyio.run_process(
            [python(), str(FOLDER / "desk_server.py")],
            env=os.environ | {"DESK_DIR": str(tmp_path / "file")},
            check=False,
        )
    assert (ended.returncode, ended.stdout) == (1, b"")
    assert ended.stderr.decode().startswith(f"desk: cannot keep notes in DESK_DIR={str(tmp_path / 'file')!r}:")
