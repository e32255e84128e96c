"""One value is changed in the operator's file, and not a character besides."""

import hashlib
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from tests.support.synced import SyncedFiles

from pegboard.config.edit import UneditableError, change_setting, set_value

FILE = """\
# The board of the shop.
servers:
  desk:
    command: desk  # ours

audit:  # what is kept
  # As long as the law wants it.
  keep_days: 30   # a month
  arguments: true

# The end.
"""


@pytest.mark.parametrize(
    ("text", "path", "value", "edited"),
    [
        (FILE, "audit.keep_days", 60, FILE.replace("keep_days: 30 ", "keep_days: 60 ")),
        (FILE, "audit.results", True, FILE.replace("arguments: true\n", "arguments: true\n  results: true\n")),
        (
            FILE,
            "code.limits.calls",
            5,
            FILE.replace("  arguments: true\n", "  arguments: true\ncode:\n  limits:\n    calls: 5\n"),
        ),
        ("", "audit.keep_days", 7, "audit:\n  keep_days: 7\n"),
        ("# nothing yet", "audit.keep_days", 7, "# nothing yet\naudit:\n  keep_days: 7\n"),
        ("audit: {keep_rows: 5}", "audit.keep_days", 7, "audit: {keep_days: 7, keep_rows: 5}"),
        ("audit: {}\n", "audit.keep_days", 7, "audit: {keep_days: 7}\n"),
        ("audit:\nredact: [a]\n", "audit.keep_days", 7, 'audit: {"keep_days": 7}\nredact: [a]\n'),
        ("redact: [a]  # more\n", "redact", ["a", "b"], 'redact: ["a", "b"]  # more\n'),
        ("redact:\n  - a\n  - b\n\n# on\n", "redact", ["c"], 'redact: ["c"]\n\n# on\n'),
        ("redact:\n- a\naudit:\n  keep_days: 1\n", "redact", [], "redact: []\naudit:\n  keep_days: 1\n"),
        ("audit:\r\n  keep_days: 1\r\n", "audit.keep_rows", 2, "audit:\r\n  keep_days: 1\r\n  keep_rows: 2\r\n"),
        ("audit:\n  keep_days: 1", "audit.keep_rows", 2, "audit:\n  keep_days: 1\n  keep_rows: 2\n"),
        ("presentation: direct\n", "presentation", "code", 'presentation: "code"\n'),
        (
            "prompts:\n  base: |\n    Be kind.\n\n",
            "prompts.budget",
            9,
            "prompts:\n  base: |\n    Be kind.\n\n  budget: 9\n",
        ),
        ("Größe: 1\naudit: {keep_days: 1}\n", "audit.keep_days", 2, "Größe: 1\naudit: {keep_days: 2}\n"),
    ],
)
def test_a_value_is_put_where_it_belongs_and_all_else_stays(text: str, path: str, value: object, edited: str) -> None:
    assert set_value(text, path.split("."), value) == edited  # type: ignore[arg-type]  # JSON all the same


def test_a_value_that_is_there_already_changes_nothing() -> None:
    assert set_value(FILE, ["audit", "keep_days"], 30) == FILE


@pytest.mark.parametrize(
    ("text", "path", "told"),
    [
        ("audit: [1]\n", "audit.keep_days", "keep_days has no place there. Edit it in the file."),
        ("a: &x 1\naudit:\n  keep_days: *x\n", "audit.keep_days", "audit.keep_days is written in a way that only a"),
        ("audit: &x {keep_days: 1}\nb: *x\n", "audit.keep_days", "audit.keep_days is written in a way that only a"),
        ("redact:\n  - a  # why\n  - b\n", "redact", "redact holds remarks that would be lost. Edit it in the file."),
        ("audit: {keep_days\n", "audit.keep_days", "The file cannot be read as it is. Mend it first."),
        ("- a\n", "audit.keep_days", "The file cannot be read as it is. Mend it first."),
    ],
)
def test_what_only_a_person_can_change_is_left_alone_and_told(text: str, path: str, told: str) -> None:
    with pytest.raises(UneditableError) as refused:
        set_value(text, path.split("."), [1] if path == "redact" else 2)
    assert str(refused.value).startswith(told)


@pytest.mark.behaviour("settings.set")
def test_the_edited_file_is_on_the_disk_before_it_takes_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, text = tmp_path / "pegboard.yaml", "audit:\n  keep_days: 7\n"
    file.write_text(text, "utf-8")
    synced = SyncedFiles(monkeypatch)
    change_setting(file, "audit.keep_days", 60, hashlib.sha256(text.encode()).hexdigest(), {}, dry=False)
    assert file.read_text("utf-8") == "audit:\n  keep_days: 60\n"
    assert synced.hold_whole([file])


_NAMES = st.sampled_from(["audit", "code", "limits", "calls", "keep_days"])
_VALUES = (
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=6) | st.lists(st.text(max_size=3), max_size=3)
)
_TREES = st.recursive(_VALUES, lambda inner: st.dictionaries(_NAMES, inner, max_size=4), max_leaves=8)


@given(
    tree=st.dictionaries(_NAMES, _TREES, max_size=4),
    flow=st.sampled_from([None, True, False]),
    path=st.lists(_NAMES, min_size=1, max_size=3),
    value=_VALUES,
)
def test_an_edited_text_says_the_same_but_for_this_value_or_is_not_edited(
    tree: dict[str, object], flow: bool | None, path: list[str], value: object
) -> None:
    within: object = tree
    for name in path[:-1]:
        within = within.get(name) if isinstance(within, dict) else within
    has_room = isinstance(within, dict | None)
    text = yaml.safe_dump(tree, default_flow_style=flow, allow_unicode=True, sort_keys=False) if tree else ""
    # The library does not read every text back as it wrote it: U+0085 becomes a space.
    said = yaml.safe_load(text) or {}
    try:
        edited = set_value(text, path, value)  # type: ignore[arg-type]  # JSON all the same
    except UneditableError:
        assert not has_room or "#" in text
        return
    assert yaml.safe_load(edited) == _with(said, path, value)


def _with(tree: object, path: list[str], value: object) -> object:
    if not path:
        return value
    held = tree if isinstance(tree, dict) else {}
    return {**held, path[0]: _with(held.get(path[0]), path[1:], value)}
