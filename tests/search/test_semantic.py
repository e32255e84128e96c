"""Ranking by meaning: exact, the same whatever else is there, and words where meaning is missing."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.boards import key
from tests.support.encoders import WIDTH, vector_of

from pegboard.core.model.ids import ToolId
from pegboard.search.documents import SearchDocument
from pegboard.search.index import SearchIndex
from pegboard.search.rank import SearchResults, rank_documents
from pegboard.search.semantic import (
    MAX_SEMANTIC_SHARE,
    MIN_SEMANTIC_SHARE,
    BoardEmbeddings,
    PartDigests,
    QueryVectors,
    VectorMatrix,
    document_text,
    fuse_scores,
    pack_vector,
    raise_to_top,
    standardize,
    text_digest,
    unpack_vector,
)

SHED = key("farm~shed")


def document(name: str, description: str = "", *parameters: str) -> SearchDocument:
    return SearchDocument(ToolId(SHED, name), name, "", description, parameters, (), "shed")


TOOLS = (
    document("tidy_lawn", "Gathers leaves in autumn."),
    document("makeHole", "Digs.", "soil_kind"),
    document("fetch_bucket", "Brings milk of the cow."),
    document("forecast", "Rain or not."),
)


def shelved(index: SearchIndex, *, lacking: frozenset[str] = frozenset()) -> BoardEmbeddings:
    """All that the index has is read, but for the lacking."""
    by_key = {each.key: each for each in TOOLS}
    shelf = BoardEmbeddings()
    reads = []
    for part in index.parts:
        texts = [document_text(by_key[id]) for id in part.keys]
        reads.append(PartDigests(part, tuple(text_digest("m", text) for text in texts)))
        known = (text for id, text in zip(part.keys, texts, strict=True) if id.name not in lacking)
        shelf.vectors.add({text_digest("m", text): unpack_vector(pack_vector(vector_of(text))) for text in known})
    shelf.update(reads)
    return shelf


def asked(query: str, index: SearchIndex, shelf: BoardEmbeddings, *among: str, missing: float = 0.3) -> SearchResults:
    chosen = index.choose([ToolId(SHED, name) for name in among] if among else None)
    return rank_documents(query, chosen, QueryVectors(vector_of(query), shelf, 0.5, missing))


def names(found: SearchResults) -> list[str]:
    return [id.name for id in found]


def test_what_is_read_of_a_tool_is_said_as_people_say_it() -> None:
    assert [document_text(each) for each in TOOLS[:2]] == [
        "shed tidy lawn: Gathers leaves in autumn.",
        "shed make Hole: Digs. Parameters: soil kind",
    ]
    assert document_text(SearchDocument(ToolId(SHED, "x"), "getHTTPData", "Get it", "", (), (), "a~b")) == "a b Get it:"
    assert document_text(document("x", "d" * 9_000)) == f"shed x: {'d' * 2_000}"


def test_a_digest_tells_texts_and_models_apart() -> None:
    assert len({text_digest("m", "ab"), text_digest("ma", "b"), text_digest("m", "b"), text_digest("m", "\ud800")}) == 4


@pytest.mark.behaviour("semantic.found_by_meaning")
def test_a_tool_is_found_by_meaning_where_no_word_of_it_is_said() -> None:
    index = SearchIndex.of(TOOLS)
    found = asked("foliage", index, shelved(index))
    assert (names(found), found.ranker) == (["tidy_lawn"], "hybrid")
    assert names(rank_documents("foliage", index.choose())) == []


@pytest.mark.behaviour("semantic.unseen_changes_nothing")
@given(st.sets(st.sampled_from([each.name for each in TOOLS]), min_size=1), st.sampled_from(["foliage", "milk rain"]))
def test_what_is_not_chosen_changes_neither_order_nor_score(among: set[str], query: str) -> None:
    whole, own = SearchIndex.of(TOOLS), SearchIndex.of([each for each in TOOLS if each.name in among])
    here = asked(query, whole, shelved(whole), *sorted(among))
    alone = asked(query, own, shelved(own))
    assert (here.hits, here.ranker) == (alone.hits, alone.ranker)


def test_a_few_without_a_vector_are_ranked_by_their_words_and_many_leave_all_to_words() -> None:
    index = SearchIndex.of(TOOLS)
    found = asked("foliage or bucket", index, shelved(index, lacking=frozenset({"fetch_bucket"})))
    assert (sorted(names(found)), found.ranker) == (["fetch_bucket", "tidy_lawn"], "hybrid")
    half = shelved(index, lacking=frozenset({"fetch_bucket", "forecast"}))
    assert asked("foliage or bucket", index, half).ranker == "lexical"
    assert asked("foliage or bucket", index, half, "tidy_lawn", "makeHole").ranker == "hybrid"


def test_a_query_of_another_model_is_left_to_words() -> None:
    index = SearchIndex.of(TOOLS)
    other = QueryVectors(np.ones(WIDTH + 1, np.float32), shelved(index), 0.5, 0.1)
    assert rank_documents("leaves", index.choose(), other).ranker == "lexical"


def test_an_index_of_which_nothing_was_read_is_left_to_words() -> None:
    shelf = shelved(SearchIndex.of(TOOLS))
    assert asked("foliage", SearchIndex.of(TOOLS), shelf).ranker == "lexical"


def vectors(count: int) -> dict[bytes, "np.ndarray[tuple[int, ...], np.dtype[np.float32]]"]:
    rows = np.random.default_rng(3).standard_normal((count, 24)).astype(np.float32)
    return {number.to_bytes(4, "big"): row for number, row in enumerate(rows)}


def test_a_cosine_is_the_same_to_the_last_bit_however_many_are_asked_for() -> None:
    held, some = VectorMatrix(), vectors(10_000)
    held.add(some)
    query = some[(77).to_bytes(4, "big")]
    rows = np.arange(10_000, dtype=np.int32)
    whole = held.cosines(query, rows)
    for step in (2, 7, 991):
        assert held.cosines(query, rows[5::step]).tolist() == whole[5::step].tolist()
    alone = VectorMatrix()
    alone.add({b"a": some[(9_999).to_bytes(4, "big")]})
    assert alone.cosines(query, rows[:1]).tolist() == [whole[9_999]]


def test_vectors_are_added_once_and_those_of_another_length_never() -> None:
    held = VectorMatrix()
    held.add({b"a": np.ones(3, np.float32)})
    held.add({b"a": np.zeros(3, np.float32), b"b": np.ones(4, np.float32), b"c": np.ones(3, np.float32)})
    assert (len(held), b"b" in held, held.width) == (2, False, 3)
    assert held.cosines(np.ones(3, np.float32), np.array([0, 1], np.int32)).tolist() == [3.0, 3.0]


def test_vectors_of_tools_that_are_gone_are_forgotten_once_they_are_the_most() -> None:
    index = SearchIndex.of(TOOLS)
    shelf = shelved(index)
    wide = {number.to_bytes(4, "big"): vector_of(str(number)) for number in range(5_000)}
    shelf.vectors.add(wide)
    before = asked("foliage", index, shelf).hits
    shelf.drop_unused_vectors()
    assert len(shelf.vectors) == len(TOOLS)
    assert asked("foliage", index, shelf).hits == before


@given(st.lists(st.floats(-1, 1, width=32), min_size=1, max_size=40).filter(any))
def test_a_vector_that_was_kept_points_where_it_did(numbers: list[float]) -> None:
    vector = np.array(numbers, np.float32)
    length = np.sqrt(np.dot(vector, vector))
    if length < 1e-3:
        return
    kept = unpack_vector(pack_vector(vector / length))
    assert float(np.dot(kept, vector / length)) > 0.999
    assert abs(float(np.dot(kept, kept)) - 1) < 1e-5


def test_meaning_and_words_are_weighed_among_each_other() -> None:
    words, meanings = np.array([3.0, 0.0, 0.0]), np.array([0.1, 0.9, 0.1])
    assert np.argmax(fuse_scores(words, meanings).scores) == 1
    assert fuse_scores(words, np.array([np.nan, np.nan, np.nan])).scores.tolist() == standardize(words).tolist()
    assert fuse_scores(np.zeros(0), np.zeros(0)).scores.tolist() == []


@pytest.mark.behaviour("search.fusion_by_confidence")
def test_the_one_that_is_sure_of_itself_counts_more() -> None:
    flat, steep = np.linspace(0.3, 0.4, 50), np.array([1.0] + [0.0] * 49)
    sure_words, sure_meaning = fuse_scores(steep, flat), fuse_scores(flat, steep)
    assert sure_words.semantic_share < fuse_scores(flat, flat).semantic_share < sure_meaning.semantic_share
    assert np.argmax(sure_words.scores) == 0
    assert np.argmax(sure_meaning.scores) == 0
    assert fuse_scores(np.zeros(50), steep).semantic_share == MAX_SEMANTIC_SHARE


@pytest.mark.behaviour("search.fusion_by_confidence")
def test_a_clause_finds_what_the_whole_query_is_too_wide_for() -> None:
    words, whole = np.zeros(30), np.linspace(0.5, 0.4, 30)
    one, other = np.full(30, 0.1), np.full(30, 0.1)
    one[20], other[25] = 0.9, 0.8
    assert np.argmax(fuse_scores(words, whole).scores) == 0
    assert {*np.argsort(-fuse_scores(words, whole, (one, other)).scores)[:2].tolist()} == {20, 25}


SCORES = st.lists(st.tuples(st.floats(0, 30), st.floats(-1, 1)), min_size=1, max_size=60)


@pytest.mark.behaviour("search.fusion_keeps_the_first")
@given(SCORES, st.integers(0, 3))
def test_what_words_or_meaning_have_first_is_among_the_first_ten(scores: list[tuple[float, float]], count: int) -> None:
    words, cosines = np.array([word for word, _ in scores]), np.array([cosine for _, cosine in scores])
    both = fuse_scores(words, cosines, [np.roll(cosines, turn) for turn in range(1, count + 1)])
    again = fuse_scores(words, cosines, [np.roll(cosines, turn) for turn in range(1, count + 1)])
    assert both.scores.tolist() == again.scores.tolist()
    final = both.scores.copy()
    for position, amount in raise_to_top(final, both.leaders).items():
        assert amount > 0
        final[position] += amount
    for first in both.leaders:
        assert np.count_nonzero(final > final[first]) < 10
    assert MIN_SEMANTIC_SHARE <= both.semantic_share <= MAX_SEMANTIC_SHARE
