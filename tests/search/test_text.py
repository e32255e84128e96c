"""Text into terms: whatever way a word is written, it is found by another."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard.search.text import query_terms, stem, terms


@pytest.mark.behaviour("search.words")
@pytest.mark.parametrize(
    "text", ["create_issue", "create-issue", "createIssue", "CreateIssues", "creating issues", "Created: issue!"]
)
def test_a_name_is_the_same_words_however_it_is_put_together(text: str) -> None:
    assert set(terms(text)) >= {"creat", "issu"}


@pytest.mark.parametrize(
    ("forms", "expected"),
    [
        ("file files", "file"),
        ("create creates created creating creation", "creat"),
        ("delete deletes deleted deleting deletion", "delet"),
        ("query queries", "query"),
        ("search searches searched searching", "search"),
        ("stop stops stopped stopping", "stop"),
        ("list lists listed listing", "list"),
        ("class classes", "class"),
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
    assert query_terms("索文") == ["索文"]


def test_a_query_is_asked_without_the_words_of_every_sentence_unless_it_has_no_others() -> None:
    assert query_terms("I want to create an issue for the issue") == ["creat", "issu"]
    assert query_terms("what is it") == ["what", "is", "it"]
    assert query_terms("") == query_terms("?! …") == []


@given(st.text(st.characters(codec=None, exclude_categories=()), max_size=200))
def test_any_text_gives_terms_of_a_decent_length(text: str) -> None:
    assert all(0 < len(term) <= 64 for term in terms(text))
    assert set(query_terms(text)) <= set(terms(text))
