"""The pages on toolsets, lived through: made, tried, imported, exported and imported again by their own commands."""

from pathlib import Path

import anyio
import pytest
from tests.docs.clone import DEADLINE, Reader, cloned
from tests.docs.pages import page

MAKE, SHARE = page("docs/how-to/make-a-toolset.md"), page("docs/how-to/share-a-toolset.md")


@pytest.mark.anyio
@pytest.mark.slow
@pytest.mark.behaviour("cli.toolset_new", "toolsets.linked")
async def test_the_pages_on_toolsets_do_what_they_say(tmp_path: Path) -> None:
    reader = Reader(cloned(tmp_path))

    async def said(command: str) -> str:
        told = await reader.types(f"PATH=$PWD/.venv/bin:$PATH {command}")
        assert told.code == 0, told.text
        return told.text

    with anyio.fail_after(5 * DEADLINE):
        told = {command: await said(command) for command in MAKE.commands}
        assert '"words":5' in told["""pegboard tools call mine:count_words '{"text": "a peg for every tool"}'"""]
        assert "linked" not in told["pegboard toolset show mine"]
        told = {command: await said(command) for command in SHARE.commands[:1]}
        assert "mine is in mine-0.1.0.zip" in told["pegboard toolset export mine"]
        await said("pegboard toolset remove mine --yes")
        for command in SHARE.commands[1:]:
            await said(command)
        assert "mine:count_words" in await said("pegboard toolset show mine")
