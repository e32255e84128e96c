"""Text into terms: whatever way a word is written, it is found by another."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard.search.text import ParsedQuery, split_words, stem, terms


@pytest.mark.behaviour("search.words")
@pytest.mark.parametrize(
    "text", ["create_issue", "create-issue", "createIssue", "CreateIssues", "creating issues", "Created: issue!"]
)
def test_a_name_is_the_same_words_however_it_is_put_together(text: str) -> None:
    assert set(terms(text)) >= {"creat", "issu"}


@pytest.mark.parametrize(
    ("forms", "expected"),
    [
        ("create creates created creating creation", "creat"),
        ("delete deletes deleted deleting deletion", "delet"),
        ("query queries queried", "queri"),
        ("search searches searched searching", "search"),
        ("stop stops stopped stopping", "stop"),
        ("list lists listed listing", "list"),
        ("class classes", "class"),
        ("translate translates translated translating translation translator", "translat"),
        ("file files filed filing", "file"),
        ("schedule scheduling scheduled scheduler", "schedul"),
        ("generate generation generator", "gener"),
        ("available availability", "avail"),
        ("quick quickly", "quick"),
        ("need needed needs", "need"),
        ("status", "status"),
        ("string", "string"),
        ("red", "red"),
    ],
)
def test_the_forms_of_a_word_have_one_stem(forms: str, expected: str) -> None:
    assert {stem(form) for form in forms.split()} == {expected}


def test_an_identifier_is_found_as_a_whole_and_by_its_parts() -> None:
    assert terms("getHTTPResponse2") == ["gethttpresponse2", "get", "http", "respons"]
    assert terms("OAuth GitHub") == ["oauth", "auth", "github", "git", "hub"]


def test_letters_are_compared_without_their_case_width_and_accents() -> None:
    assert terms("Café \uff37\uff29\uff24\uff25 straße ÄRGER") == ["cafe", "wide", "strass", "arger"]


def test_scripts_without_spaces_are_found_by_two_characters_at_a_time() -> None:
    assert terms("搜索文件") == ["搜索", "索文", "文件"]
    assert terms("图") == ["图"]
    assert terms("Bing搜索v2 поиск") == ["bing", "v2", "搜索", "поиск"]
    assert [*ParsedQuery.of("索文").terms] == ["索文"]


def test_a_query_is_asked_without_the_words_of_every_sentence_unless_it_has_no_others() -> None:
    query = ParsedQuery.of("I want to create an issue for the Issue")
    assert dict(query.terms) == {"creat": "create", "issu": "issue"}
    assert query.ignored == ("I", "want", "to", "an", "for", "the")
    only = ParsedQuery.of("what is it")
    assert [*only.terms] == ["what", "is", "it"]
    assert only.ignored == ()
    assert [*ParsedQuery.of("").terms] == [*ParsedQuery.of("?! …").terms] == []


def test_what_is_said_again_counts_a_little_more() -> None:
    once, twice, thrice = ParsedQuery.of("file issue issue path path path").weights
    assert 1 == once < twice < thrice < 3


def test_a_request_of_several_sentences_has_several_clauses() -> None:
    query = ParsedQuery.of("Read the big file now. Then send mail to the owner!")
    assert [*query.terms] == ["read", "big", "file", "now", "send", "mail", "owner"]
    assert [*map(list, query.clauses)] == [[1, 1, 1, 1, 0, 0, 0], [0, 0, 0, 0, 1, 1, 1]]
    assert ParsedQuery.of("Read the big file now").clauses == ParsedQuery.of("One two three four. " * 50).clauses == ()


def test_a_name_is_known_by_how_it_is_written() -> None:
    assert ParsedQuery.of("Call create_issue, then sendMail or github:list.").names == (
        ("call", "creat", "issu", "then", "send", "mail", "or", "github", "list"),
        ("creat", "issu"),
        ("send", "mail"),
        ("github", "list"),
    )
    assert ParsedQuery.of("word " * 3).names == (("word",),)
    assert ParsedQuery.of(" ".join(f"w{number}" for number in range(99))).names == ()
    assert split_words("createIssue v2 GET_file") == ["creat", "issu", "v2", "get", "file"]


@given(st.text(st.characters(codec=None, exclude_categories=()), max_size=200))
def test_any_text_gives_terms_of_a_decent_length(text: str) -> None:
    assert all(0 < len(term) <= 64 for term in terms(text))
    assert {*split_words(text)} <= {*terms(text)}
    query = ParsedQuery.of(text)
    assert query.terms.keys() <= {*terms(text)}
    assert len(query.weights) == len(query.terms)
    assert all(len(clause) == len(query.terms) for clause in query.clauses)
