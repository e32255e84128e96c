"""The tutorial as a reader lives it: every command as it is written, every edit it asks for, everything it shows."""

import re
from pathlib import Path

import anyio
import pytest
from tests.docs.clone import DEADLINE, Reader, cloned
from tests.docs.pages import is_as_shown, page

TUTORIAL = page("docs/tutorials/first-board.md")


class Pupil(Reader):
    async def tries(self, line: str, code: int = 0) -> str:
        """Types a line and sees what the page shows."""
        said = await self.types(line)
        assert said.code == code, f"{line} ended with {said.code}:\n{said.text}"
        shown = TUTORIAL.shown.get(line)
        assert shown is None or is_as_shown(shown, said.text), f"{line}\nshown:\n{shown}\nreal:\n{said.text}"
        return said.text


@pytest.mark.slow
@pytest.mark.anyio
@pytest.mark.timeout(10 * DEADLINE)
async def test_a_reader_who_does_what_the_tutorial_says_sees_what_it_shows(tmp_path: Path) -> None:
    pupil = Pupil(cloned(tmp_path))
    file = tmp_path / "examples" / "demo" / "pegboard.yaml"
    as_it_was = file.read_text("utf-8")
    with anyio.fail_after(5 * DEADLINE):
        async with pupil.runs("make run"):
            await pupil.hears(*(line.strip() for line in TUTORIAL.shown["make run"].splitlines()))
            assert any(line.startswith("MCP endpoint") for line in pupil.heard)
            await pupil.tries('export PATH="$PWD/.venv/bin:$PATH" PEGBOARD_DATA_DIR="$PWD/.demo"')

            wall = await pupil.tries("pegboard tools list")
            assert (wall.count("● mcp:"), wall.count("○ mcp:")) == (8, 2)
            trail = await pupil.tries("pegboard why delete_note")
            assert trail.count("✗") == 1

            found = await pupil.tries("""pegboard tools call search_books '{"query": "tide"}'""")
            assert found.count('"title"') == 1
            await pupil.tries('pegboard tools call write_note --arg name=today --arg text="Water the plants"')
            assert (tmp_path / ".demo" / "desk" / "today.md").read_text("utf-8") == "Water the plants"
            refused = await pupil.tries("pegboard tools call delete_note --arg name=today", code=5)
            sentence = re.sub(r"^pegboard: \w+: | This is .*\n", "", refused)
            assert sentence in trail, "the refusal says what `why` said"

            file.write_text(locked_one_more(as_it_was), "utf-8")
            await pupil.hears("was loaded again")
            await pupil.tries("pegboard why write_note")

            file.write_text(re.sub("^servers:$", "servrs:", file.read_text("utf-8"), flags=re.MULTILINE), "utf-8")
            await pupil.hears("was edited and cannot be used")
            await pupil.tries("pegboard doctor", code=1)
            await pupil.tries("pegboard servers list")

            pupil.heard.clear()
            file.write_text(as_it_was, "utf-8")
            await pupil.hears("was loaded again")
            await pupil.tries("cp examples/demo/pegboard.yaml examples/demo/other.yaml")
            other = file.with_name("other.yaml")
            before, after = "disabled_tools: [delete_note]", "disabled_tools: [write_note]"
            assert before in as_it_was
            assert all(f"`{text}`" in TUTORIAL.prose for text in (before, after))
            other.write_text(as_it_was.replace(before, after), "utf-8")
            await pupil.tries("pegboard diff examples/demo/other.yaml")
            await pupil.tries("rm examples/demo/other.yaml")
    assert not (tmp_path / ".demo" / "gateway.json").exists(), "Ctrl-C ends it in good order"
    assert pupil.typed == TUTORIAL.commands, "the tutorial has other commands than this test tries"


def locked_one_more(text: str) -> str:
    """The file with the list as the tutorial shows it: as it was, and one line more."""
    (block,) = (block.text for block in TUTORIAL.blocks if block.language == "yaml")
    before = block.replace('  - "*:write_*"\n', "")
    assert text.count(before) == 1
    return text.replace(before, block)
