"""Ranking by words: what fits best comes first, equals in their own order, and nobody notices what is not theirs."""

from collections.abc import Iterable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.boards import GITHUB

from pegboard.core.ids import ToolId
from pegboard.search.lexical import MOST_TERMS, Document, Index, Part


def document(name: str, description: str = "", *parameters: str, title: str = "", source: str = "") -> Document:
    return Document(ToolId(GITHUB, name), name, title, description, parameters, source)


BOARD = (
    document("create_issue", "Open a new ticket in a repository.", "title", "body"),
    document("list_issues", "List the tickets of a repository.", "state"),
    document("read_file", "Give back what a file holds.", "path"),
    document("write_file", "Put text into a file.", "path", "text"),
    document("send_mail", "Send a letter to somebody.", "recipient", title="Electronic post"),
    document("weather", "The forecast for a place.", "latitude", source="skies~meteo"),
)


def names(query: str, documents: Iterable[Document] = BOARD, among: Sequence[str] | None = None) -> list[str]:
    chosen = None if among is None else [ToolId(GITHUB, name) for name in among]
    return [hit.key.name for hit in Index.of(documents).ranked(query, chosen)]


@pytest.mark.behaviour("search.ranked")
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("create an issue", ["create_issue", "list_issues"]),
        ("listIssues", ["list_issues", "create_issue"]),
        ("what tickets are there", ["list_issues", "create_issue"]),
        ("recipient", ["send_mail"]),
        ("electronic", ["send_mail"]),
        ("meteo", ["weather"]),
        ("forecasts", ["weather"]),
        ("repo", ["list_issues", "create_issue"]),
        ("nothing of this kind", []),
        ("", []),
        ("???", []),
    ],
)
def test_tools_are_found_by_name_title_description_parameter_and_server(query: str, expected: list[str]) -> None:
    assert names(query) == expected


def test_the_tool_that_is_called_so_comes_first() -> None:
    others = [document(f"thing_{number}", "read file " * 5) for number in range(20)]
    assert names("read_file", [*others, *BOARD])[0] == "read_file"


def test_a_word_counts_more_in_a_name_than_in_a_description() -> None:
    two = [document("alpha", "It can archive."), document("archive", "It can alpha.")]
    assert names("archive", two) == ["archive", "alpha"]


def test_a_whole_word_counts_more_than_the_beginning_of_another() -> None:
    two = [document("filesystem"), document("file")]
    assert names("file", two) == ["file", "filesystem"]


def test_equals_stay_in_their_order() -> None:
    alike = [document(f"z{number}", "same words here") for number in (3, 1, 2)]
    assert names("same words", alike) == ["z3", "z1", "z2"]


def test_a_query_of_a_whole_page_is_answered_by_its_beginning() -> None:
    page = " ".join(f"word{number}x" for number in range(MOST_TERMS * 3))
    assert names(f"mail {page}") == ["send_mail"]
    assert names(f"{page} mail") == []


def test_an_index_without_documents_answers_with_nothing() -> None:
    assert Index().ranked("anything") == Index.of([]).ranked("anything") == []
    assert names("mail", among=[]) == []


WORDS = ("file", "files", "filed", "filter", "read", "reads", "issue", "list", "a", "工具", "文件工", "getFile")
texts = st.lists(st.sampled_from(WORDS), max_size=5).map(" ".join)


@st.composite
def boards(draw: st.DrawFn) -> list[Document]:
    made = draw(st.lists(st.tuples(texts, texts), min_size=1, max_size=12))
    return [
        Document(ToolId(GITHUB, f"tool{number}"), name, "", description)
        for number, (name, description) in enumerate(made)
    ]


@pytest.mark.behaviour("search.unseen_changes_nothing")
@given(boards(), texts, st.sets(st.integers(0, 11)), st.integers(1, 4))
def test_a_search_among_some_is_as_if_there_were_no_others(
    made: list[Document], query: str, chosen: set[int], size: int
) -> None:
    some = [document for place, document in enumerate(made) if place in chosen]
    alone = Index.of(some).ranked(query)
    parts = Index(tuple(Part.of(made[start : start + size]) for start in range(0, len(made), size)))
    asked = [document.key for document in reversed(some)]
    assert parts.ranked(query, asked) == alone
    assert Index.of(made).ranked(query) == parts.ranked(query)
