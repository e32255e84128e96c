"""Texts become the tokens that the model was taught with. Expected words are those of the reference implementation."""

import pytest

from pegboard.providers.embedding.inference import WordPiece, split_words

VOCABULARY = {
    word: number
    for number, word in enumerate(
        ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "un", "##aff", "##able", "create", "issue", ":", "##s", "你", "$"]
    )
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("Create an ISSUE", ["create", "an", "issue"]),
        ("createIssue: naïve café — déjà-vu?", ["createissue", ":", "naive", "cafe", "—", "deja", "-", "vu", "?"]),
        ("你好 world", ["你", "好", "world"]),
        ("$5+3=8", ["$", "5", "+", "3", "=", "8"]),
        ("a\tb\u200bc\0d\u2028e", ["a", "bcd", "e"]),
        ("Grüße", ["große".replace("o", "u")]),
        ("it's 100%", ["it", "'", "s", "100", "%"]),
    ],
)
def test_words_fall_into_those_of_the_model(text: str, expected: list[str]) -> None:
    assert split_words(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", [2, 3]),
        ("unaffable", [2, 4, 5, 6, 3]),
        ("create issues:", [2, 7, 8, 10, 9, 3]),
        ("create zebra", [2, 7, 1, 3]),
        ("unaffablez", [2, 1, 3]),
        ("un" * 51, [2, 1, 3]),
        ("你$", [2, 11, 12, 3]),
    ],
)
def test_words_are_taken_apart_into_the_longest_known_pieces(text: str, expected: list[int]) -> None:
    assert WordPiece(VOCABULARY).tokens(text, 128) == expected


def test_a_long_text_is_cut_and_still_ends_as_a_text() -> None:
    assert WordPiece(VOCABULARY).tokens("create issue " * 1000, 6) == [2, 7, 8, 7, 8, 3]


def test_a_vocabulary_without_the_marks_of_a_text_is_refused() -> None:
    with pytest.raises(KeyError):
        WordPiece({"word": 0})
