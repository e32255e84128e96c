"""The index follows the board: what changed is taken apart again, what did not is taken over, and answers are the same
as those of an index that was made at once."""

from collections.abc import Sequence
from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.boards import NOW
from tests.search.documents import document

from pegboard.core.model.catalogue import Listing, ProviderUp, build_catalogue
from pegboard.core.model.ids import ServerId, ServerKey, ToolId, ToolsetId
from pegboard.core.model.server import DeclaredAt, Http, Server, Trust
from pegboard.core.model.tool import Tool, ToolSpec
from pegboard.core.model.toolset import Toolset
from pegboard.core.policy.policy import DeclaredSettings, Policy
from pegboard.search import index as indexing
from pegboard.search.documents import IndexedDocuments
from pegboard.search.index import MAX_CACHED_CHOICES, IncrementalIndex, SearchIndex
from pegboard.search.rank import rank_documents

AT = DeclaredAt("pegboard.yaml", 1)
KEYS = [ServerKey(ToolsetId(f"s{number}"), ServerId(f"s{number}")) for number in range(6)]
POLICY = Policy(
    DeclaredSettings(
        servers={key: Server(key, Http("http://127.0.0.1:1/mcp"), AT, trust=Trust.OPEN) for key in KEYS},
        toolsets={key.toolset: Toolset(key.toolset, AT) for key in KEYS},
    )
)
WORDS = ("read", "write", "file", "issue", "mail", "工具", "files")


def tool(server: int, name: str, description: str) -> Tool:
    properties = {"path": {"type": "string", "description": "Where it lies", "enum": ["near", "far", 3]}}
    return Tool(ToolId(KEYS[server], name), ToolSpec(name, None, description, {"properties": properties}))  # type: ignore[dict-item]  # JSON, but invariant


states = st.lists(
    st.tuples(st.integers(0, 5), st.sampled_from("abcdefgh"), st.lists(st.sampled_from(WORDS), max_size=4)),
    max_size=16,
    unique_by=lambda made: made[:2],
)


def listings(state: Sequence[tuple[int, str, list[str]]]) -> list[Listing]:
    tools = sorted((tool(server, name, " ".join(words)) for server, name, words in state), key=lambda one: one.id)
    return [
        Listing(source, ProviderUp(NOW), tuple(theirs)) for source, theirs in groupby(tools, lambda one: one.id.source)
    ]


@pytest.mark.behaviour("search.incremental")
@given(st.lists(states, min_size=2, max_size=5), st.lists(st.sampled_from(WORDS), min_size=1).map(" ".join))
def test_an_index_that_followed_changes_answers_as_one_that_was_made_at_once(
    changes: list[list[tuple[int, str, list[str]]]], query: str
) -> None:
    upkeep = IncrementalIndex()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(indexing, "SEGMENT_DOCUMENTS", 3)
        for state in changes:
            now = build_catalogue(listings(state))
            followed = upkeep.index(now, POLICY)
            fresh = IncrementalIndex().index(now, POLICY)
            assert followed.keys == fresh.keys
            assert rank_documents(query, followed.choose()).hits == rank_documents(query, fresh.choose()).hits


@pytest.mark.behaviour("search.incremental")
def test_segments_of_which_no_part_changed_are_taken_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexing, "SEGMENT_DOCUMENTS", 4)
    state = [(server, name, ["file"]) for server in range(6) for name in "abc"]
    upkeep = IncrementalIndex()
    before = upkeep.index(build_catalogue(listings(state)), POLICY)
    assert [len(segment) for segment in before.segments] == [3] * 6
    kept = {listing.source: listing for listing in listings(state)}
    kept[KEYS[2]] = Listing(KEYS[2], ProviderUp(NOW), kept[KEYS[2]].tools[:2])
    after = upkeep.index(build_catalogue(kept.values()), POLICY)
    assert [one is other for one, other in zip(before.segments, after.segments, strict=True)] == [
        *(True, True, False),
        *(True, True, True),
    ]
    [grown] = [part for part in after.parts if part.keys[0].source == KEYS[2]]
    assert [key.name for key in grown.keys] == ["a", "b"]


@pytest.mark.behaviour("search.incremental")
def test_a_part_that_changed_holds_the_words_of_its_own_documents_only() -> None:
    before = IndexedDocuments.of([document("a", "alpha"), document("b", "beta"), document("c", "gamma")])
    after = before.with_changes({0: 2, 2: 0}, IndexedDocuments.of([document("d", "delta")]), 3)
    assert [key.name for key in after.keys] == ["c", "d", "a"]
    assert after.vocabulary == ("a", "alpha", "c", "d", "delta", "gamma")
    made = IndexedDocuments.of([document("c", "gamma"), document("d", "delta"), document("a", "alpha")])
    for one, other in ((after.terms, made.terms), (after.starts, made.starts), (after.field_counts, made.field_counts)):
        assert one.tolist() == other.tolist()


def test_a_choice_is_made_once_for_one_collection_and_few_are_kept() -> None:
    upkeep = IncrementalIndex()
    state = [(server, name, ["file"]) for server in range(6) for name in "abc"]
    now = build_catalogue(listings(state))
    upkeep.index(now, POLICY)
    among = tuple(now.tools)[:5]
    chosen = upkeep.choose(among)
    assert upkeep.choose(among) is chosen
    assert len(chosen) == 5
    others = [(*among,) for _ in range(MAX_CACHED_CHOICES + 1)]
    for other in others:
        upkeep.choose(other)
    assert upkeep.choose(among) is not chosen


def test_an_index_of_nothing_has_no_segment() -> None:
    assert IncrementalIndex().index(build_catalogue([]), POLICY).segments == ()
    assert (
        IncrementalIndex().index(build_catalogue([Listing(KEYS[0], ProviderUp(NOW))]), POLICY).segments
        == SearchIndex().segments
    )
