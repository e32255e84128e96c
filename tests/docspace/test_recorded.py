"""Every recorded call, made again through a whole gateway over MCP: the same requests in order, the same result.

Where a defect of the recorded server is mended, the call is listed here under the name of what we do instead.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from benchmarks.docspace_replay.differences import DIFFERENCES
from benchmarks.docspace_replay.recordings import read
from benchmarks.docspace_replay.replay import Serving, replayed
from benchmarks.docspace_replay.report import Verdict
from tests.docspace.boards import housed
from tests.docspace.tools import reached

HERE = Path(__file__).parent
PATIENCE = 110.0

MENDED = {
    "operation errors": [
        "delete_file: operation error",
        "delete_file: operation id never appears in statuses",
        "delete_file: two operations, one fails",
        "copy_batch_items: operation error",
        "archive_room: operation error",
    ],
    "tolerant answers": [
        "delete_file: operation error null in DTO -> parse error",
        "get_file_info: DTO with null title -> parse error",
        "get_file_info: DTO with unknown fileType -> parse error",
    ],
    "web pages": ["get_file_info: HTTP 200 html"],
    "busy DocSpace": ["get_file_info: HTTP 429"],
    "omitted arguments": [
        "copy_batch_items: arguments omitted",
        "call_tool: input omitted for tool requiring it",
    ],
    "credentials kept": ["download_file_as_text: url on another host gets the Authorization header too"],
    "culture": ["set_room_security: full: culture is NOT sent"],
    "room words": [
        "get_room_types: no arguments",
        "get_room_types: extra ignored (input is not validated)",
        "get_room_access_levels: room type 1",
        "get_room_access_levels: room type 6",
        "get_room_access_levels: room type 8",
    ],
    "no user agent": ["get_file_info: auth: api key + empty UA"],
    "base URL": ["get_file_info: unsupported scheme"],
    "meta lists": [
        "list_toolsets: meta",
        "list_tools: meta",
        "list_tools: meta",
        "list_tools: meta",
        "list_toolsets: meta with limited tools",
        "list_tools: only enabled",
    ],
    "meta arguments": [
        "list_toolsets: extra ignored",
        "list_tools: unknown toolset",
        "list_tools: bad",
        "get_tool_input_schema: bad",
        "get_tool_output_schema: bad",
        "call_tool: bad input type",
    ],
    "toolset names": ["list_tools: case-sensitive"],
    "unknown tools": [
        "get_tool_input_schema: meta tool name",
        "get_tool_output_schema: unknown",
        "call_tool: unknown",
        "call_tool: meta tool through call_tool",
        "delete_file: regular tool name in meta mode",
        "call_tool: disabled tool",
    ],
}


FURTHER = {
    "empty files": ["upload_file: empty content"],
    "schemas": ["get_tool_input_schema: a schema"],
    "no output schema": ["get_tool_output_schema: no output schema"],
    "meta arguments": ["list_tools: a number for a toolset", "call_tool: no arguments"],
    "called tools": ["call_tool: wrong arguments of the tool's own", "call_tool: an error of the tool"],
    "room words": ["call_tool: room types"],
    "long operations": ["copy_batch_items: an operation of more than twenty polls"],
    "busy DocSpace": ["get_file_info: 502", "get_file_info: 503"],
    "pieces sent again": ["upload_file: a piece that DocSpace is too busy for"],
    "omitted arguments": [
        "delete_file: arguments omitted",
        "get_file_info: arguments omitted",
        "move_batch_items: arguments omitted",
        "archive_room: arguments omitted",
    ],
    "misconfigured": [
        "delete_file: two credentials",
        "delete_file: no base URL",
        "delete_file: no password",
        "delete_file: unknown toolset",
        "delete_file: no tools left",
    ],
    "unknown tools": ["delete_file: a tool that is not selected", "nope: unknown tool"],
    "tolerant answers": ["delete_file: null in an answer on the way"],
    "credentials kept": [
        "get_file_info: a redirect to another host that takes credentials along",
        "download_file_as_text: a download from another host with a token",
    ],
}
"""Calls that were not recorded, but follow from what is known of that server."""


def in_this_process(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Serving:
    """A gateway that reads these variables where a process of its own would: from the environment."""

    @asynccontextmanager
    async def serving(variables: Mapping[str, str]) -> AsyncIterator[str]:
        with monkeypatch.context() as patched:
            for name, value in variables.items():
                patched.setenv(name, value)
            async with housed(folder, None) as house, reached(house) as url:
                yield url

    return serving


def by_name(verdicts: list[Verdict]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for verdict in verdicts:
        for name in verdict.on_purpose:
            found.setdefault(name, []).append(f"{verdict.recording.tool}: {verdict.recording.note}")
    return found


@pytest.mark.anyio
@pytest.mark.slow
@pytest.mark.behaviour("docspace.recorded")
@pytest.mark.parametrize(
    ("recordings", "otherwise"), [("recordings.json", MENDED), ("further.json", FURTHER)], ids=["recorded", "further"]
)
async def test_every_recorded_call_is_made_and_answered_as_recorded_or_otherwise_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recordings: str, otherwise: dict[str, list[str]]
) -> None:
    with anyio.fail_after(PATIENCE):
        verdicts = await replayed(read(HERE / recordings), in_this_process(tmp_path, monkeypatch))
    assert [
        (each.recording.title, [str(found) for found in each.discrepancies]) for each in verdicts if each.differs
    ] == []
    assert by_name(verdicts) == otherwise


def test_every_difference_has_a_name_of_its_own_and_a_sentence() -> None:
    names = [difference.name for difference in DIFFERENCES]
    assert len(set(names)) == len(names)
    assert [each.name for each in DIFFERENCES if not each.why.endswith(".")] == []
    assert {*MENDED, *FURTHER} == set(names)


def test_the_reference_tells_users_every_difference_and_no_other() -> None:
    reference = (HERE.parents[1] / "docs/reference/docspace.md").read_text("utf-8")
    _, found, table = reference.partition("| name | here |\n|---|---|\n")
    assert found
    told = [line for line in table.split("\n\n")[0].splitlines() if line]
    assert told == [f"| {each.name} | {each.why} |" for each in DIFFERENCES]
