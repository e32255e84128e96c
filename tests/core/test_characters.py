"""The one list of characters that do not show: complete, and escaped by every writing."""

import json
import runpy
import unicodedata
from itertools import pairwise
from pathlib import Path

import pytest

from pegboard.core.model.characters import (
    HIDDEN,
    ODD_SPACES,
    escape_json,
    escape_name,
    escape_outer_spaces,
    escape_prose,
    escape_strictly,
    first_hidden,
    is_deceptive_name,
    prose_pattern,
    strict_pattern,
)
from pegboard.core.model.text import quote_name, shell_word
from pegboard.core.scan.findings import INVISIBLE

LISTED = {code for first, last in HIDDEN for code in range(first, last + 1)}
NAMED = (
    *(0x034F, 0x061C, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFEFF, 0xFFA0, 0x00AD, 0xD800, 0xDFFF),
    *(0x2D7F, 0x1107F),
    *range(0x180B, 0x1810),
    *range(0x200B, 0x2010),
    *range(0x2028, 0x202F),
    *range(0x2060, 0x2070),
    *range(0xFE00, 0xFE10),
    *range(0xFFF9, 0xFFFC),
    *range(0xE0000, 0xE0080),
    *range(0xE0100, 0xE01F0),
)


@pytest.mark.behaviour("confirmation.hidden_characters")
def test_everything_that_draws_nothing_is_listed() -> None:
    by_category = {
        code
        for code in range(0x110000)
        if unicodedata.category(chr(code)) in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp") and chr(code) not in "\n\t"
    }
    assert {*NAMED} | by_category <= LISTED
    spaces = {code for first, last in ODD_SPACES for code in range(first, last + 1)}
    assert spaces == {code for code in range(0x110000) if unicodedata.category(chr(code)) == "Zs"} - {0x20}
    assert [*HIDDEN] == sorted(HIDDEN)
    assert all(last < following for (_, last), (following, _) in pairwise(HIDDEN))


@pytest.mark.behaviour("confirmation.hidden_characters")
def test_each_is_written_out_and_the_scanner_knows_the_same() -> None:
    for code in {*NAMED, *(code for first, last in (*HIDDEN, *ODD_SPACES) for code in (first, last))}:
        letter = chr(code)
        for escaped in (escape_strictly(f"a{letter}b"), escape_name(f"a{letter}b"), quote_name(f"a{letter}b")):
            assert escaped.isascii(), hex(code)
            assert "\\" in escaped, hex(code)
        assert json.loads(escape_json(f'"a{letter}b"'.replace("\x00", "\\u0000"))) == f"a{letter}b" or code < 0x20
        assert is_deceptive_name(f"a{letter}b"), hex(code)
        assert shell_word(f"a{letter}b") is None, hex(code)
        if code in LISTED:
            assert escape_prose(f"a{letter}b") != f"a{letter}b", hex(code)
            assert first_hidden(f"a{letter}b") == f"U+{code:04X}"
            assert (INVISIBLE.search(letter) is not None) == (letter not in "\r\x85\u2028\u2029"), hex(code)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("👩\u200d👧\u200d👦 ❤\ufe0f 🏳\ufe0f\u200d🌈 1\ufe0f\u20e3 ☎\ufe0e", id="emoji"),
        pytest.param("\u0645\u06cc\u200c\u0631\u0648\u0645", id="Persian"),
        pytest.param("\u0915\u094d\u200d\u0937", id="Hindi"),
        pytest.param("Bonjour\u00a0!\u3000漢字\n\t\u05e9\u05dc", id="spaces and lines"),
    ],
)
def test_in_prose_emoji_and_joined_scripts_stay_and_where_a_person_decides_they_do_not(text: str) -> None:
    assert escape_prose(text) == text
    assert escape_strictly(text) != text


@pytest.mark.parametrize(
    "text",
    [
        "a\u200db",
        "a\u200cb",
        "👩\u200d\u200d👧",
        "x\ufe0f",
        "1\ufe0f",
        "❤\ufe0f\ufe0f",
        "\u0645\u200c\u200c",
        "\u200d👧",
    ],
)
def test_joiners_and_selectors_that_join_nothing_are_written_out_in_prose_too(text: str) -> None:
    assert escape_prose(text) != text


def test_no_name_looks_like_another_once_it_is_written_out() -> None:
    assert escape_name(" a b ") == r"\x20a b\x20"
    assert escape_name("a\n\tb") == r"a\n\tb"
    assert escape_name("send_mail\u3000") == r"send_mail\u3000"
    assert escape_name("plain name") == "plain name"
    assert escape_name("mcp:dev~mail: send ") == r"mcp:dev~mail:\x20send\x20"
    assert escape_outer_spaces("  a  b ") == r"\x20\x20a  b\x20"
    assert [is_deceptive_name(name) for name in ("a", "a b", "größe", "工具", "a ", "\ta", "a\nb", "")] == [
        *(False, False, False, False),
        *(True, True, True),
        False,
    ]


def test_the_patterns_for_the_web_ui_are_the_same_in_its_own_writing() -> None:
    for pattern in (strict_pattern, prose_pattern):
        ours, theirs = pattern(), pattern(for_javascript=True)
        translated = "".join(
            f"\\u{{{int(part[:8], 16):x}}}{part[8:]}" if at else part for at, part in enumerate(ours.split("\\U"))
        )
        assert translated == theirs


def test_the_web_ui_is_built_with_this_list() -> None:
    build = runpy.run_path(str(Path(__file__).parents[2] / "web" / "build.py"))
    written = build["characters_module"]()
    assert f"export const STRICT = /{strict_pattern(for_javascript=True)}/gu;" in written
    assert f"export const PROSE = /{prose_pattern(for_javascript=True)}/gu;" in written
    assert build["CHARACTERS"] in build["sources"](), "a change of the list builds the pages anew"
