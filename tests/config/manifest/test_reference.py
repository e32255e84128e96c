"""The reference page tells every key of toolset.yaml, and its examples are manifests."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.config.manifest.reading import manifest
from tests.config.manifest.test_schema import fits

from pegboard.config.manifest import keys
from pegboard.config.manifest.model import Manifest
from pegboard.config.manifest.reader import check_files, read_manifest
from pegboard.config.schema.fields import ListField
from pegboard.config.schema.section import ConfigSection

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "toolset-yaml.md"


def chapters() -> dict[str, str]:
    text = PAGE.read_text("utf-8")
    return dict(re.findall(r"^##+ ([^\n]+)\n(.*?)(?=^##|\Z)", text, re.DOTALL | re.MULTILINE))


def sections() -> Iterator[tuple[str, ConfigSection]]:
    yield "Top level", keys.TOOLSET
    yield "tools", keys.TOOL
    yield "mcp_servers", keys.SERVER
    yield "containers", keys.CONTAINER
    yield "containers.tools", keys.COMMAND_SECTION
    yield "tool_overrides", keys.OVERRIDE
    yield "secrets", keys.SECRET
    assert isinstance(keys.LIMITS.field_type, ConfigSection)
    yield "limits", keys.LIMITS.field_type


def test_every_key_is_described_in_the_reference_under_its_heading() -> None:
    told = chapters()
    described = {
        (heading, key)
        for heading, _ in sections()
        for key in re.findall(r"^\| `([a-z_$]+)` \|", told[heading].partition("\n| `tool_id` | means |")[0], re.M)
    }
    assert described == {(heading, key.name) for heading, section in sections() for key in section.keys}


def test_every_list_of_entries_has_its_heading() -> None:
    lists = {key.name for key in keys.TOOLSET.keys if isinstance(key.field_type, ListField)}
    assert lists - {*chapters()} == {"requirements"}


def test_every_other_spelling_is_told() -> None:
    told = PAGE.read_text("utf-8")
    assert [spelling for spelling in keys.SPELLINGS if f"`{spelling}`" not in told] == []


@pytest.mark.parametrize("example", re.findall(r"^```yaml\n(.*?)^```$", PAGE.read_text("utf-8"), re.DOTALL | re.M))
def test_every_example_is_a_manifest_without_a_warning_that_fits_the_schema(example: str) -> None:
    assert manifest(example).warnings == ()
    assert fits(example)


def test_the_forms_of_tool_ids_in_the_reference_mean_what_it_says() -> None:
    forms = re.findall(r"^\| `([^`]+)` \|", chapters()["tool_overrides"].partition("| `tool_id` | means |")[2], re.M)
    text = 'id: weather\ntools: [{id: forecast, entrypoint: "m:f"}]\nmcp_servers: [{id: maps, command: x}]\n'
    read = [manifest(f"{text}tool_overrides: [{{tool_id: '{form}', enabled: false}}]") for form in forms]
    assert [each.warnings for each in read] == [()] * 6
    assert [str(row.target) for each in read for row in each.overrides] == [
        *("weather:forecast", "weather:forecast", "mcp:weather~maps:find", "mcp:weather~maps:find"),
        *("weather~maps:*", "*:read_*"),
    ]


def test_every_toolset_among_the_examples_is_sound() -> None:
    for path in sorted((PAGE.parents[2] / "examples").rglob("toolset.y*ml")):
        read = read_manifest(path.read_bytes(), path.name, path.parent, {})
        assert isinstance(read, Manifest), str(read)
        names = [each.relative_to(path.parent).as_posix() for each in path.parent.rglob("*") if each.is_file()]
        assert (read.warnings, check_files(read, names)) == ((), ()), path
        assert fits(path.read_text("utf-8")), path
