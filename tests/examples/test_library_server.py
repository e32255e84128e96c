"""The library of the demo board finds what is there and refuses what makes no sense."""

import pytest
from mcp import Client
from tests.examples.demo import answer, library, refusal

pytestmark = pytest.mark.anyio


async def titles(client: Client, query: str = "", **arguments: object) -> list[str]:
    return [book["title"] for book in (await answer(client, "search_books", query=query, **arguments))["books"]]


async def test_the_library_is_searched_by_all_words_without_case_or_accents() -> None:
    async with library() as client:
        assert await titles(client, "LIGHTHOUSES brekkestad") == ["Salt on the Windows", "The Quiet Foghorn"]
        assert await titles(client, "uber") == ["Über das Ausleihen von Leitern"]
        assert await titles(client, "時計") == ["海辺の時計屋"]
        assert await titles(client, "звезды") == ["Звёзды над складом"]
        assert await titles(client, "no such words anywhere") == []


async def test_a_match_in_the_title_comes_before_one_in_the_summary() -> None:
    async with library() as client:
        assert await titles(client, "lamplighter") == ["The Lamplighter's Almanac", "The Inventory of Small Lights"]


async def test_a_library_search_is_narrowed_by_its_filter_and_paged() -> None:
    async with library() as client:
        narrow = {"shelf": "workshop", "published_from": 1970, "published_to": 1990}
        assert await titles(client, filter=narrow) == [
            "The Pegboard Wall",
            "A Short Dictionary of Knots",
            "The Apprentice's Second Year",
        ]
        assert await titles(client, filter=narrow, limit=1, offset=1) == ["A Short Dictionary of Knots"]
        assert await titles(client, filter={"author": "valdoro", "language": "en"}) == [
            "Soup Before Midnight",
            "Feeding the Regatta",
        ]
        assert (await answer(client, "search_books", offset=10_000)) == {"total": 24, "books": []}


async def test_the_search_schema_keeps_its_filter_as_a_definition() -> None:
    async with library() as client:
        schema = next(tool for tool in (await client.list_tools()).tools if tool.name == "search_books").input_schema
    assert schema["properties"]["filter"]["anyOf"] == [{"$ref": "#/$defs/BookFilter"}, {"type": "null"}]
    assert schema["$defs"]["BookFilter"]["additionalProperties"] is False


async def test_a_catalogue_entry_has_everything_known_of_a_book() -> None:
    async with library() as client:
        assert await answer(client, "get_book", book_id="bk-014") == {
            "id": "bk-014",
            "title": "The Pegboard Wall",
            "author": "Jun Asakura",
            "year": 1979,
            "language": "en",
            "shelf": "workshop",
            "pages": 188,
            "copies": 2,
            "subjects": ["tools", "order"],
            "summary": "Every tool in its outline: a short history of hanging things up where you can see them.",
        }


async def test_the_shelves_and_the_counts_agree() -> None:
    async with library() as client:
        shelves = (await answer(client, "list_shelves"))["shelves"]
        by_shelf = await answer(client, "count_books")
        assert {shelf["id"]: shelf["books"] for shelf in shelves} == by_shelf["counts"]
        assert sum(by_shelf["counts"].values()) == by_shelf["total"] == 24
        assert await answer(client, "count_books", by="decade", shelf="kitchen") == {
            "by": "decade",
            "counts": {"1990s": 1, "2000s": 1, "2010s": 2},
            "total": 4,
        }


REFUSED: list[tuple[str, dict[str, object], str]] = [
    ("get_book", {"book_id": "bk-999"}, "there is no book 'bk-999'. Ids run from bk-001 to bk-024"),
    ("get_book", {"book_id": "../library.json"}, "there is no book '../library.json'"),
    ("get_book", {"book_id": ""}, "there is no book ''"),
    ("get_book", {"book_id": "b" * 100_000}, "at most 40 characters"),
    ("get_book", {}, "Field required"),
    ("search_books", {"query": "x" * 201}, "at most 200 characters"),
    ("search_books", {"limit": 0}, "greater than or equal to 1"),
    ("search_books", {"limit": 51}, "less than or equal to 50"),
    ("search_books", {"offset": -1}, "greater than or equal to 0"),
    ("search_books", {"filter": {"shelf": "attic"}}, "The shelves are sea, garden, workshop, night, kitchen."),
    ("search_books", {"filter": {"colour": "red"}}, "Extra inputs are not permitted"),
    ("search_books", {"filter": {"language": "English"}}, "should match pattern"),
    ("count_books", {"by": "__class__"}, "Input should be 'shelf', 'author', 'language' or 'decade'"),
    ("count_books", {"shelf": "attic"}, "there is no shelf 'attic'"),
]


async def test_the_library_refuses_what_makes_no_sense_and_says_what_would() -> None:
    async with library() as client:
        for tool, arguments, told in REFUSED:
            refused = await refusal(client, tool, **arguments)
            assert told in refused
            assert len(refused) < 1_000
        assert await titles(client, "pegboard") == ["The Pegboard Wall"]
