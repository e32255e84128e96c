"""Ranking by words: what fits best comes first, equals in their own order, and nobody notices what is not theirs."""

from collections.abc import Iterable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.boards import GITHUB
from tests.search.documents import BOARD, document

from pegboard.core.model.ids import ServerId, ServerKey, ToolId, ToolsetId
from pegboard.search.documents import IndexedDocuments, SearchDocument
from pegboard.search.index import SearchIndex
from pegboard.search.rank import RankedDocument, rank_documents
from pegboard.search.text import MAX_TERMS


def names(query: str, documents: Iterable[SearchDocument] = BOARD, among: Sequence[str] | None = None) -> list[str]:
    chosen = None if among is None else [ToolId(GITHUB, name) for name in among]
    return [hit.key.name for hit in rank_documents(query, SearchIndex.of([*documents]).choose(chosen)).hits]


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
        ("northern", ["weather"]),
        ("celsius", ["weather"]),
        ("repo", ["list_issues", "create_issue"]),
        ("nothing of this kind", []),
        ("", []),
        ("???", []),
    ],
)
def test_tools_are_found_by_name_title_description_parameters_and_server(query: str, expected: list[str]) -> None:
    assert names(query) == expected


def test_a_word_of_every_sentence_is_no_beginning_of_another() -> None:
    documents = [document("resize", "Andere Größe."), document("and_then", "Goes on.")]
    assert names("the of and", documents) == ["and_then"]


@pytest.mark.behaviour("search.exact_names_first")
def test_the_tool_that_is_called_so_comes_first() -> None:
    others = [document(f"read_file_{number}", "read file " * 5) for number in range(20)]
    assert names("read_file", [*others, *BOARD])[0] == "read_file"
    assert names("readFile", [*others, *BOARD])[0] == "read_file"
    assert names("Please use read_file on many files, thing by thing.", [*others, *BOARD])[0] == "read_file"


@pytest.mark.behaviour("search.exact_names_first")
@pytest.mark.parametrize("query", ["files:read", "dev~files:read", "mcp:dev~files:read", "ask `files:read` for a page"])
def test_the_tool_of_the_named_server_comes_first(query: str) -> None:
    files = ServerKey(ToolsetId("dev"), ServerId("files"))
    others = [
        SearchDocument(
            ToolId(ServerKey(ToolsetId("dev"), ServerId(f"other{n}")), "read"), "read", description="files, a page"
        )
        for n in range(5)
    ]
    made = [*others, SearchDocument(ToolId(files, "read"), "read", server="dev~files")]
    assert next(iter(rank_documents(query, SearchIndex.of(made).choose()))) == ToolId(files, "read")


def test_a_word_counts_more_in_a_name_than_in_a_description() -> None:
    two = [document("alpha", "It can archive."), document("archive", "It can alpha.")]
    assert names("archive", two) == ["archive", "alpha"]


def test_a_whole_word_counts_more_than_the_beginning_of_another() -> None:
    two = [document("filesystem"), document("file")]
    assert names("file", two) == ["file", "filesystem"]


def test_each_clause_of_a_request_finds_its_own_tool() -> None:
    request = (
        "Forecast the weather for my place, the weather of the whole week with weather maps and all that a forecast "
        "has. Then send a letter to somebody."
    )
    assert set(names(request)[:2]) == {"weather", "send_mail"}


def test_equals_stay_in_their_order() -> None:
    alike = [document(f"z{number}", "same words here") for number in (3, 1, 2)]
    assert names("same words", alike) == ["z3", "z1", "z2"]
    many = [document(f"z{number}", "same words here") for number in range(1_000)]
    assert names("same words", many) == [f"z{number}" for number in range(1_000)]


def test_the_best_of_very_many_are_the_first_of_all_of_them() -> None:
    many = [document(f"z{number}", "word " + "filler " * (number * 7 % 400)) for number in range(1_000)]
    found = rank_documents("word", SearchIndex.of(many).choose())
    scores = [hit.score for hit in found.hits]
    assert len(found) == 1_000
    assert scores == sorted(scores, reverse=True)
    assert [*found] == [hit.key for hit in found.hits]


def test_a_query_of_a_whole_page_is_answered_by_its_beginning() -> None:
    page = " ".join(f"word{number}x" for number in range(MAX_TERMS * 3))
    assert names(f"mail {page}") == ["send_mail"]
    assert names(f"{page} mail") == []


@pytest.mark.parametrize("query", ["anything", "", "the"])
def test_an_index_without_documents_answers_with_nothing(query: str) -> None:
    assert (
        rank_documents(query, SearchIndex().choose()).hits
        == rank_documents(query, SearchIndex.of([]).choose()).hits
        == ()
    )
    assert rank_documents(query, SearchIndex().choose([ToolId(GITHUB, "mail")])).hits == ()
    assert names("mail", among=[]) == []


def test_what_was_found_knows_what_is_in_it() -> None:
    found = rank_documents("issue", SearchIndex.of(BOARD).choose())
    assert ToolId(GITHUB, "list_issues") in found
    assert ToolId(GITHUB, "weather") not in found
    assert ToolId(GITHUB, "no_such_tool") not in found
    assert "list_issues" not in found


WORDS = ("file", "files", "filed", "filter", "read", "reads", "issue", "list", "a", "工具", "文件工", "getFile")
texts = st.lists(st.sampled_from(WORDS), max_size=5).map(" ".join)
queries = st.lists(texts, min_size=1, max_size=3).map(". ".join)
SERVERS = [ServerKey(ToolsetId("dev"), ServerId(name)) for name in ("one", "two", "three")]


@st.composite
def boards(draw: st.DrawFn) -> list[SearchDocument]:
    made = draw(st.lists(st.tuples(texts, texts, st.sampled_from(SERVERS)), min_size=1, max_size=12))
    return [
        SearchDocument(ToolId(server, f"tool{number}"), name, "", description)
        for number, (name, description, server) in enumerate(made)
    ]


@pytest.mark.behaviour("search.unseen_changes_nothing")
@given(boards(), queries, st.sets(st.integers(0, 11)), st.integers(1, 4))
def test_a_search_among_some_is_as_if_there_were_no_others(
    made: list[SearchDocument], query: str, chosen: set[int], size: int
) -> None:
    some = [document for place, document in enumerate(made) if place in chosen]
    alone = rank_documents(query, SearchIndex.of(some).choose()).hits
    parts = SearchIndex.from_parts(
        [IndexedDocuments.of(made[start : start + size]) for start in range(0, len(made), size)]
    )
    asked = [document.key for document in reversed(some)]
    assert rank_documents(query, parts.choose(asked)).hits == alone
    assert rank_documents(query, SearchIndex.of(made).choose()).hits == rank_documents(query, parts.choose()).hits


@pytest.mark.behaviour("search.unseen_changes_nothing")
def test_a_score_is_the_same_to_the_last_bit_whatever_else_there_is() -> None:
    some = [document(f"tool_{n}", f"list file number {n % 7} " + "pad " * (n % 13)) for n in range(500)]
    others = [document(f"other_{n}", "list file " * (n % 5 + 1), title="file") for n in range(333)]
    mixed = [each for pair in zip(some, [*others, *[None] * 167], strict=True) for each in pair if each is not None]
    query = "list a file by its number. Then list the pad of the file"
    alone = rank_documents(query, SearchIndex.of(some).choose()).hits
    among: tuple[RankedDocument, ...] = rank_documents(
        query, SearchIndex.of(mixed).choose([each.key for each in some])
    ).hits
    assert among == alone
    assert len(alone) == 500
