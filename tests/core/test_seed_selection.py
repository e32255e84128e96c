"""The tables of the seeds, literally, and what a running system was recorded to do with the same inputs.

Globally a selection is tried on all there is; per request the same process runs inside the global result.
"""

import json
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.core.boards import ME, Board, board, tool
from tests.core.laws import opened

from pegboard.core.decision.resolve import Resolution, build_directory, resolve
from pegboard.core.model.ids import ToolsetId, ToolsetKey
from pegboard.core.model.references import ReferenceKind, ToolDirectory, UnknownReference
from pegboard.core.model.selection import (
    AllToolsets,
    SelectedTools,
    Selection,
    TheseToolsets,
    View,
    parse_toolsets,
    select_tools,
)

SEED = {
    "files": ["create_file", "get_file", "delete_file"],
    "folders": ["create_folder", "get_folder", "delete_folder"],
}


def hung(toolsets: dict[str, list[str]]) -> Board:
    return board(tool(ToolsetKey(ToolsetId(id)), name) for id, names in toolsets.items() for name in names)


def resolved(board: Board, chosen: Selection, *narrowings: Selection) -> Resolution:
    chosen_board = board.declaring(selection=chosen)
    return resolve(chosen_board.catalogue, chosen_board.policy, View(ME, narrowings))


def names(resolution: Resolution) -> dict[str, list[str]]:
    shown: dict[str, list[str]] = {}
    for id in sorted(opened(resolution)):
        shown.setdefault(id.toolset, []).append(id.name)
    return {toolset: sorted(found) for toolset, found in shown.items()}


TABLES = {
    "enable a tool from a toolset that is not given": (
        Selection(TheseToolsets(("files",)), ("create_folder",)),
        {"files": ["create_file", "delete_file", "get_file"], "folders": ["create_folder"]},
    ),
    "disable a tool from a toolset that is given": (
        Selection(TheseToolsets(("files",)), ("create_folder",), ("get_file",)),
        {"files": ["create_file", "delete_file"], "folders": ["create_folder"]},
    ),
    "name the tools one by one": (
        Selection(TheseToolsets(()), ("create_file", "get_file", "create_folder"), ("get_file", "delete_folder")),
        {"files": ["create_file"], "folders": ["create_folder"]},
    ),
}


@pytest.mark.behaviour(
    "selection.enable_from_other_toolset",
    "selection.disable_from_given_toolset",
    "selection.manual_list",
    "selection.three_steps",
    "selection.disabled_wins",
)
@pytest.mark.parametrize(("chosen", "result"), TABLES.values(), ids=TABLES)
def test_the_tables_of_the_seeds_hold_globally(chosen: Selection, result: dict[str, list[str]]) -> None:
    resolution = resolved(hung(SEED), chosen)
    assert (names(resolution), resolution.unknown_in_selection) == (result, ())


@pytest.mark.behaviour("request.same_process")
@pytest.mark.parametrize(("chosen", "result"), TABLES.values(), ids=TABLES)
def test_the_tables_of_the_seeds_hold_for_a_request(chosen: Selection, result: dict[str, list[str]]) -> None:
    resolution = resolved(hung(SEED), Selection(), chosen)
    assert (names(resolution), resolution.unknown_in_narrowing) == (result, ())


@pytest.mark.behaviour(
    "selection.baseline_at_start", "request.inside_global", "request.toolset_brings_only_selected_tools"
)
@pytest.mark.parametrize(("chosen", "result"), TABLES.values(), ids=TABLES)
def test_a_request_for_all_gets_the_global_result_and_no_more(chosen: Selection, result: dict[str, list[str]]) -> None:
    every_toolset = Selection(TheseToolsets(("files", "folders")))
    for request in (Selection(), every_toolset, Selection(parse_toolsets(["all"]))):
        resolution = resolved(hung(SEED), chosen, request)
        assert (names(resolution), resolution.unknown_in_narrowing) == (result, ())


@pytest.mark.behaviour("request.nothing_given_is_global")
@pytest.mark.parametrize(("chosen", "result"), TABLES.values(), ids=TABLES)
def test_a_request_that_gives_nothing_gets_the_global_result(chosen: Selection, result: dict[str, list[str]]) -> None:
    assert names(resolved(hung(SEED), chosen)) == result


def test_an_enabled_tool_that_is_already_there_changes_nothing() -> None:
    assert names(resolved(hung(SEED), Selection(TheseToolsets(("files",)), ("get_file",)))) == {
        "files": ["create_file", "delete_file", "get_file"]
    }


@pytest.mark.behaviour("selection.disabling_what_is_not_on_is_ignored")
def test_disabling_what_is_not_on_is_ignored() -> None:
    resolution = resolved(hung(SEED), Selection(TheseToolsets(("files",)), (), ("get_folder",)))
    assert (names(resolution), resolution.unknown_in_selection) == (
        {"files": ["create_file", "delete_file", "get_file"]},
        (),
    )


@pytest.mark.behaviour("selection.empty_toolsets_start_empty")
def test_an_empty_list_of_toolsets_starts_without_tools() -> None:
    resolution = resolved(hung(SEED), Selection(parse_toolsets([])))
    assert (names(resolution), resolution.unknown_in_selection) == ({}, ())


@pytest.mark.behaviour("selection.nothing_given_is_all", "selection.toolset_brings_all_its_tools")
def test_without_a_setting_every_toolset_is_selected() -> None:
    everything = {toolset: sorted(tools) for toolset, tools in SEED.items()}
    assert names(resolved(hung(SEED), Selection())) == everything
    assert names(resolved(hung(SEED), Selection(TheseToolsets(("folders", "files"))))) == everything


@pytest.mark.behaviour("selection.all_is_every_toolset")
@pytest.mark.parametrize("given", [["all"], ["files", "all"], [" all ", "nothing"], ["ALL"]])
def test_all_is_every_toolset_alone_or_beside_others(given: list[str]) -> None:
    assert parse_toolsets(given) == AllToolsets()


def test_blank_and_repeated_toolsets_are_dropped() -> None:
    assert parse_toolsets([" files", "", " ", "files", "Files"]) == TheseToolsets(("files",))


@pytest.mark.behaviour(
    "selection.unknown_toolset_is_error",
    "selection.unknown_enabled_tool_is_error",
    "selection.unknown_disabled_tool_is_error",
    "selection.errors_name_kind_and_near_matches",
)
def test_an_unknown_name_is_told_with_its_kind_and_what_is_near() -> None:
    wrong = Selection(TheseToolsets(("file", "files")), ("create_fodler",), ("get_flie",))
    resolution = resolved(hung(SEED), wrong)
    assert resolution.unknown_in_selection == (
        UnknownReference("file", ReferenceKind.TOOLSET, ("files",)),
        UnknownReference("create_fodler", ReferenceKind.ENABLED_TOOL, ("create_folder", "create_file", "get_folder")),
        UnknownReference("get_flie", ReferenceKind.DISABLED_TOOL, ("get_file", "get_folder", "delete_file")),
    )
    assert str(resolution.unknown_in_selection[0]) == "Unknown toolset 'file'. Did you mean 'files'?"
    assert str(resolution.unknown_in_selection[1]) == (
        "Unknown enabled tool 'create_fodler'. Did you mean 'create_folder' or 'create_file' or 'get_folder'?"
    )


def test_a_request_that_names_what_is_not_selected_globally_is_told_so_and_not_what_exists() -> None:
    request = Selection(TheseToolsets(("folders",)), ("create_folder",), ("delete_folder",))
    resolution = resolved(hung(SEED), Selection(TheseToolsets(("files",))), request)
    assert resolution.unknown_in_narrowing == (
        UnknownReference("folders", ReferenceKind.TOOLSET, ("files",)),
        UnknownReference("create_folder", ReferenceKind.ENABLED_TOOL, ("create_file",)),
        UnknownReference("delete_folder", ReferenceKind.DISABLED_TOOL, ("delete_file",)),
    )
    assert sorted(id.name for id in resolution.offered_tools) == ["create_file", "delete_file", "get_file"]
    assert names(resolution) == {}


def test_a_toolset_that_has_listed_nothing_yet_may_be_named_where_it_is_selected() -> None:
    """A server that is still starting must not make the requests that name its toolset fail."""
    empty = board([tool(ToolsetKey(ToolsetId("files")), "get_file")], sources=[ToolsetKey(ToolsetId("late"))])
    request = Selection(TheseToolsets(("late",)))
    assert resolved(empty, Selection(), request).unknown_in_narrowing == ()
    assert resolved(empty, Selection(TheseToolsets(("late",))), request).unknown_in_narrowing == ()
    assert resolved(empty, Selection(TheseToolsets(("files",))), request).unknown_in_narrowing == (
        UnknownReference("late", ReferenceKind.TOOLSET),
    )


@pytest.mark.behaviour("request.call_follows_the_narrowing")
def test_what_a_request_narrows_away_has_no_name_in_it() -> None:
    resolution = resolved(hung(SEED), Selection(), Selection(TheseToolsets(("files",))))
    assert sorted(resolution.by_name) == ["create_file", "delete_file", "get_file"]


def test_near_matches_are_worked_out_for_the_first_few_only() -> None:
    """A request may name thousands of things in vain, and looking for near ones is what costs."""
    chosen = select_tools(Selection(enabled=tuple(f"get_fil{n}" for n in range(20))), directory_of(hung(SEED)))
    assert [bool(unknown.suggestions) for unknown in chosen.unknown] == [True] * 8 + [False] * 12


def directory_of(board: Board) -> ToolDirectory:
    return build_directory(board.catalogue, board.policy)


# --- recorded --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Recorded:
    name: str
    chosen: Selection
    request: Selection | None
    expected: tuple[str, tuple[str, ...]]


RECORDINGS = json.loads((Path(__file__).parent / "recorded_selections.json").read_text(encoding="utf-8"))


def listed(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def selection(given: dict[str, str]) -> Selection:
    return Selection(
        toolsets=parse_toolsets(given["toolsets"].split(",")) if "toolsets" in given else AllToolsets(),
        enabled=listed(given.get("enabled", "")),
        disabled=listed(given.get("disabled", "")),
    )


def recordings(by_seed: bool) -> list[Recorded]:
    found = []
    for case in RECORDINGS["cases"]:
        if ("seed" in case) is not by_seed:
            continue
        (kind, expected), *_ = (case["seed"] if by_seed else case["recorded"]).items()
        request = selection(case["request"]) if "request" in case else None
        found.append(Recorded(case["name"], selection(case["global"]), request, (kind, tuple(expected))))
    return found


def outcome(case: Recorded) -> tuple[str, tuple[str, ...]]:
    resolution = resolved(hung(RECORDINGS["toolsets"]), case.chosen, *([case.request] if case.request else []))
    if unknown := (*resolution.unknown_in_selection, *resolution.unknown_in_narrowing):
        return "unknown", tuple(each.text for each in unknown)
    return "tools", tuple(sorted(id.name for id in opened(resolution)))


@pytest.mark.behaviour("selection.recorded_cases")
@pytest.mark.parametrize("case", recordings(by_seed=False), ids=lambda case: case.name)
def test_the_running_system_and_the_board_agree(case: Recorded) -> None:
    assert outcome(case) == case.expected


@pytest.mark.behaviour("selection.recorded_cases")
@pytest.mark.parametrize("case", recordings(by_seed=True), ids=lambda case: case.name)
def test_where_the_running_system_contradicts_the_seed_the_seed_wins(case: Recorded) -> None:
    """`why` in the recordings says for each what the seed says instead."""
    assert outcome(case) == case.expected


def test_every_contradiction_is_one_and_says_why() -> None:
    for case in RECORDINGS["cases"]:
        assert ("why" in case) is ("seed" in case)
        assert case.get("seed") != case["recorded"]


def test_selecting_is_pure_and_says_which_toolsets_were_chosen_whole() -> None:
    files = ToolsetId("files")
    chosen = select_tools(Selection(TheseToolsets(("FILES",)), ("create_folder",)), directory_of(hung(SEED)))
    assert chosen == SelectedTools(
        tools=frozenset(id for id in hung(SEED).tools if id.toolset == files or id.name == "create_folder"),
        toolsets=frozenset({files}),
    )
