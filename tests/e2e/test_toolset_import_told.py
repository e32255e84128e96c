"""What an import tells of: what it approved, what waits, and what it could not bring."""

from pathlib import Path

import pytest
from tests.e2e.test_toolset_import import COUNT, SHOUT
from tests.support.toolsets import WORDS, brought, housed, laid_out, manifest, statuses, tool, until_open

from pegboard.gateway.toolsets.reader import InvalidToolsetError

pytestmark = pytest.mark.anyio


@pytest.mark.behaviour("toolsets.changed_tools_wait")
async def test_who_has_read_the_differences_approves_what_they_tell_of_and_nothing_else(tmp_path: Path) -> None:
    folder = laid_out(tmp_path / "mine", manifest(tool("shout"), tool("count")))
    said = manifest(tool("shout"), tool("count"), version="2.0.0")
    louder = WORDS.replace("loudly", "very loudly")
    async with housed(tmp_path / "data") as house:
        first = await brought(house, folder)
        assert (first.waiting_tools, first.pending_tools, first.approved_tools) == ((), (), ())
        await until_open(house, "mine:shout", "mine:count")
        again = await brought(house, laid_out(folder, said, {"tools/words.py": louder}))
        assert (again.waiting_tools, again.pending_tools, again.approved_tools) == ((SHOUT,), (), ())
        unchanged = await brought(house, folder, approve_all=True)
        assert (unchanged.waiting_tools, unchanged.pending_tools, unchanged.approved_tools) == ((), (SHOUT,), ())
        assert statuses(house) == {"mine:count": "open", "mine:shout": "pending_approval"}
        counted = louder.replace("How many letters", "How many letters there are")
        last = await brought(house, laid_out(folder, said, {"tools/words.py": counted}), approve_all=True)
        assert (last.waiting_tools, last.pending_tools, last.approved_tools) == ((), (SHOUT,), (COUNT,))
        assert statuses(house) == {"mine:count": "open", "mine:shout": "pending_approval"}


@pytest.mark.behaviour("toolsets.import_tells_first")
async def test_an_image_that_cannot_be_fetched_is_told_by_the_import(tmp_path: Path) -> None:
    boxes = [{"id": "box", "image": "127.0.0.1:9/none:1", "mcp": True}]
    async with housed(tmp_path / "data", lambda key, id: False) as house:
        found = await brought(house, laid_out(tmp_path / "mine", manifest(containers=boxes)))
    (told,) = found.warnings
    assert "the image 127.0.0.1:9/none:1 " in told
    assert told.endswith("Until it is here, what runs in it is down: mend that and import the toolset again.")


async def test_an_id_that_cannot_be_a_folder_everywhere_is_refused(tmp_path: Path) -> None:
    async with housed(tmp_path / "data", lambda key, id: False) as house:
        with pytest.raises(InvalidToolsetError, match=r"toolset\.yaml: id: 'con' is a device on Windows\. Rename it\."):
            await brought(house, laid_out(tmp_path / "mine", manifest(id="con")))
