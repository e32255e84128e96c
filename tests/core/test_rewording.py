"""How one text became another, word by word: right, bounded, and with nothing unseen in it."""

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard.core.review.text_diff import MAX_PIECES, MAX_TEXT_CHARS, DiffPiece, PieceKind, diff_words, harmless_text

KEPT, REMOVED, ADDED = PieceKind.KEPT, PieceKind.REMOVED, PieceKind.ADDED


def told(before: str, after: str) -> list[tuple[PieceKind, str]]:
    return [(piece.kind, piece.text) for piece in diff_words(before, after)]


@pytest.mark.behaviour("approvals.difference_reviewed")
@pytest.mark.parametrize(
    ("before", "after", "pieces"),
    [
        ("Reads a note.", "Reads a note.", []),
        ("", "Reads.", [(ADDED, "Reads.")]),
        ("Reads.", "", [(REMOVED, "Reads.")]),
        ("Reads a note.", "Reads and sends a note.", [(KEPT, "Reads "), (ADDED, "and sends "), (KEPT, "a note.")]),
        ("Reads a note.", "Deletes all notes.", [(REMOVED, "Reads a note"), (ADDED, "Deletes all notes"), (KEPT, ".")]),
        ("a note", "a  note", [(KEPT, "a "), (ADDED, " "), (KEPT, "note")]),
        ("one\ntwo", "one\n\u202etwo", [(KEPT, "one"), (KEPT, "\\n"), (ADDED, "\\u{202e}"), (KEPT, "two")]),
    ],
)
def test_a_text_is_told_by_the_words_that_came_and_went(
    before: str, after: str, pieces: list[tuple[PieceKind, str]]
) -> None:
    found = told(before, after)
    assert [(how, text) for how, text in found if how is not KEPT] == [
        (how, text) for how, text in pieces if how is not KEPT
    ]
    assert "".join(text for how, text in found if how is KEPT) == "".join(t for how, t in pieces if how is KEPT)


def test_a_letter_of_another_alphabet_that_looks_the_same_is_told_by_its_number() -> None:
    assert told("send mail", "s\u0435nd mail") == [(REMOVED, "send"), (ADDED, "s\\u{0435}nd"), (KEPT, " mail")]


def test_a_screenful_of_blanks_cannot_push_words_out_of_sight() -> None:
    (_, added, *_) = diff_words("Reads.", "Reads." + " " * 5_000 + "\n" * 300 + "Then sends it.")
    assert added.text == " [5,000 blanks] \\n [300 times] Then sends it."


@pytest.mark.behaviour("approvals.review_is_bounded")
def test_the_middle_of_a_long_text_that_stayed_is_left_out() -> None:
    text = " ".join(f"word{number}" for number in range(100_000))
    pieces = diff_words(text, text.replace("word50000", "changed"))
    assert [piece.kind for piece in pieces] == [KEPT, REMOVED, ADDED, KEPT]
    assert [piece.text for piece in pieces[1:3]] == ["word50000", "changed"]
    assert all(len(piece.text) < 200 for piece in pieces)


@pytest.mark.behaviour("approvals.review_is_bounded")
@pytest.mark.parametrize("word", ["a ", "ab", "\u202ea", "a\nb "])
def test_whatever_a_server_writes_the_difference_is_short(word: str) -> None:
    pieces = diff_words(word * 500_000, (word + "x") * 400_000)
    assert len(pieces) <= MAX_PIECES + 1
    assert sum(len(piece.text) for piece in pieces) < 20 * MAX_TEXT_CHARS
    assert any("more characters]" in piece.text for piece in pieces)
    assert pieces[-1].text.endswith("x")


@pytest.mark.behaviour("approvals.review_is_bounded")
def test_changes_without_number_are_counted() -> None:
    before = " ".join(f"{number} same same same" for number in range(150))
    after = " ".join(f"{number + 1000} same same same" for number in range(150))
    pieces = diff_words(before, after)
    assert len(pieces) == MAX_PIECES + 1
    assert re.fullmatch(r"… \d+ more changes", pieces[-1].text)


words = st.lists(st.sampled_from(["a", "b", "c", "the", ".", ",", "naïve", "工具"]), max_size=12).map(" ".join)


@given(words, words)
def test_what_stayed_and_went_is_the_former_text_and_what_stayed_and_came_the_latter(before: str, after: str) -> None:
    pieces = diff_words(before, after)
    if before == after:
        assert pieces == ()
        return
    assert "".join(piece.text for piece in pieces if piece.kind is not ADDED) == before
    assert "".join(piece.text for piece in pieces if piece.kind is not REMOVED) == after


@given(st.text(), st.text())
def test_nothing_that_does_not_show_is_left_in_it_and_a_change_is_never_told_as_none(before: str, after: str) -> None:
    pieces = diff_words(before, after)
    assert bool(pieces) == (before != after)
    assert before == after or any(piece.kind is not KEPT for piece in pieces)
    for piece in pieces:
        assert isinstance(piece, DiffPiece)
        assert not any(unicodedata.category(letter) in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp") for letter in piece.text)


@given(st.text())
def test_a_harmless_text_is_one_printable_line(text: str) -> None:
    assert harmless_text(text).isprintable()
