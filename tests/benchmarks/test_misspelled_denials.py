"""The benchmark of misspelled denials counts what it says, and the bounds of ADR 16 hold for DocSpace's names."""

from benchmarks.misspelled_denials import measure, one_edit

from pegboard.config.docspace_toolsets import tool_ids


def test_one_edit_of_a_name_locks_the_tool_that_is_meant_and_hardly_another() -> None:
    row = measure("docspace", [id.name for id in tool_ids()], 1, one_edit)
    assert row.misspelled > 10_000
    assert row.caught / row.misspelled >= 0.95
    assert row.locked / row.misspelled <= 2


def test_every_way_of_one_edit_is_made() -> None:
    edits = {*one_edit("ab")}
    assert {"a", "b", "ba", "xb", "ax", "xab", "axb", "abx"} <= edits
    assert all(abs(len(text) - 2) <= 1 for text in edits)
