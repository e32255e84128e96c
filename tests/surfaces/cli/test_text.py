"""Text that others wrote, made safe for a terminal without losing what it says."""

import json
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard.surfaces.cli.activity import RECORDS_COLUMNS as COLUMNS
from pegboard.surfaces.cli.activity import record_row
from pegboard.surfaces.cli.output import clean, clean_json, result_text, shell_quote, table


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain\ttext\nin lines", "plain\ttext\nin lines"),
        ("from Windows\r\n", "from Windows\n"),
        ("\x1b[2J\x07 \x9b31m \x7f\r", "\\x1b[2J\\x07 \\x9b31m \\x7f\\r"),
        ("abc\u202edef\u2066\u200b\ufeff", "abc\\u202edef\\u2066\\u200b\\ufeff"),
        ("tag \U000e0041", "tag \\U000e0041"),
        ("half \ud800", "half \\ud800"),
        ("Grüße, 你好, می‌خواهم, 👩‍👩‍👧, a\u00a0b", "Grüße, 你好, می‌خواهم, 👩‍👩‍👧, a\u00a0b"),
    ],
)
def test_what_could_move_the_cursor_or_hide_text_is_written_out(text: str, shown: str) -> None:
    assert clean(text) == shown


@given(st.text(st.characters(exclude_categories=())))
def test_clean_json_is_the_same_json_without_a_character_a_terminal_obeys(text: str) -> None:
    shown = clean_json(json.dumps(text, ensure_ascii=False))
    assert json.loads(shown) == json.loads(json.dumps(text))
    assert clean(shown) == shown


def test_a_table_lines_up_wide_characters_and_keeps_each_row_on_one_line() -> None:
    assert table(("A", "B"), [("你好", "two\nlines"), ("e\u0301", "")]) == "A     B\n你好  two lines\ne\u0301"


@pytest.mark.behaviour("confirmation.hidden_characters")
@pytest.mark.parametrize(
    "hidden", ["\u3164", "\u00a0", "\u3000", "\u2800", "\ufe0f", "\u200d", "\U000e0100", "\u202e", " "]
)
def test_a_name_in_a_table_or_a_command_shows_all_of_its_characters(hidden: str) -> None:
    escaped = "\\x20" if hidden == " " else hidden.encode("unicode_escape").decode()
    name = f"mcp:dev~github:send_mail{hidden}"
    assert table(("TOOL",), [(name,)]) == f"TOOL\nmcp:dev~github:send_mail{escaped}"
    record = {
        "id": 1,
        "at": "2026-01-02T03:04:05+00:00",
        "kind": "call",
        "principal": name,
        "subject": name,
        "name": name,
    }
    record |= {"durationMs": None, "message": "", "outcome": "returned", "argumentTokens": None, "resultTokens": None}
    assert table(COLUMNS, [record_row(record)]).count(f"send_mail{escaped}") == 2
    shell = ["bash", "-c", f"printf %s {shell_quote(name)}"]
    said = subprocess.run(shell, capture_output=True, check=True, env={"LC_ALL": "C.UTF-8"}).stdout.decode()
    assert said == name
    assert hidden == " " or hidden not in shell_quote(name)


def test_a_result_is_told_in_words_whatever_it_holds() -> None:
    content: list[object] = [
        {"type": "text", "text": "hello"},
        {"type": "image", "mimeType": "image/png", "data": "AAAA"},
        {"type": "audio", "data": "AAAAAAAA"},
        {"type": "resource", "resource": {"uri": "file:///a", "text": "inside"}},
        {"type": "resource", "resource": {"uri": "file:///b", "mimeType": "image/gif", "blob": "AAAA"}},
        {"type": "resource_link", "uri": "file:///c", "name": "see"},
        {"type": "hologram"},
        {},
        "nonsense",
    ]
    assert result_text({"content": content}).splitlines() == [
        "hello",
        "[image/png, about 3 bytes; with --json you get it]",
        "[audio, about 6 bytes; with --json you get it]",
        "inside",
        "[image/gif at file:///b; with --json you get it]",
        "[see: file:///c]",
        "[hologram content; with --json you get it]",
        "[unknown content; with --json you get it]",
    ]
    assert result_text({"content": [], "structuredContent": {"a": 1}}) == '{\n  "a": 1\n}'
    assert result_text({"content": 7}) == ""
