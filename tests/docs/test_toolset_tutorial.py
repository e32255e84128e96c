"""The tutorial on toolsets as a reader lives it: every command, every edit it asks for, everything it shows."""

from pathlib import Path

import pytest
from tests.docs.clone import DEADLINE, Reader, cloned
from tests.docs.pages import is_as_shown, page

TUTORIAL = page("docs/tutorials/first-toolset.md")
REFUSED = {"pegboard toolset check plants": 3, '\'{"plant": "oak", "last": "2030-01-30"}\'': 5}
FIRST = "pegboard toolset import plants --yes"
AGAIN = "pegboard toolset import plants --dry-run --describe"


def edited(file: Path, before: str, after: str) -> None:
    text = file.read_text("utf-8")
    assert text.count(before) == 1, f"{before!r} is not once in {file}"
    file.write_text(text.replace(before, after), "utf-8")


@pytest.mark.slow
@pytest.mark.anyio
@pytest.mark.timeout(10 * DEADLINE)
@pytest.mark.behaviour("cli.toolset_new", "cli.toolset_import", "toolsets.changed_tools_wait")
async def test_a_reader_who_does_what_the_tutorial_on_toolsets_says_sees_what_it_shows(tmp_path: Path) -> None:
    reader = Reader(cloned(tmp_path))
    plants = tmp_path / "plants"
    module = plants / "plants_tools" / "watering.py"
    (code,) = (block.text for block in TUTORIAL.blocks if block.language == "python")
    (lines,) = (
        block.text for block in TUTORIAL.blocks if "entrypoint:" in block.text and "pegboard:" not in block.text
    )
    first, second = "Tell when a plant needs water again.", "Tell when a plant needs water again, by its kind."
    assert f"`{second}`" in TUTORIAL.prose

    for line in TUTORIAL.commands:
        if line == FIRST:
            edited(plants / "toolset.yaml", "next_wattering", "next_watering")
        if line == AGAIN:
            edited(module, first, second)
        said = await reader.types(line)
        expected = next((code for part, code in REFUSED.items() if line.endswith(part)), 0)
        assert said.code == expected, f"{line} ended with {said.code}:\n{said.text}"
        shown = TUTORIAL.shown.get(line)
        assert shown is None or is_as_shown(shown, said.text), f"{line}\nshown:\n{shown}\nreal:\n{said.text}"
        if line == "pegboard toolset new plants":
            module.write_text(code, "utf-8")
            edited(plants / "toolset.yaml", "\ntools:\n", f"\ntools:\n{lines}")
    assert not plants.exists()
    kept = (tmp_path / ".demo" / "toolsets" / "toolsets").iterdir()
    assert [path.name for path in kept if path.is_dir()] == []
