"""Which tool a written name means."""

import pytest

from pegboard.prompts.scanner import ToolNameMatcher
from pegboard.prompts.tool_shape import ToolShape


def meant(name: str, *tools: str) -> str | None:
    found = ToolNameMatcher([ToolShape(tool) for tool in tools]).match(name)
    return found.tool.name if found.tool else None


def test_the_very_name_wins_over_every_other_reading() -> None:
    assert meant("functions.search", "search", "functions.search") == "functions.search"
    assert meant("Search", "search", "Search") == "Search"


def test_a_prefix_of_templates_the_number_of_a_call_case_and_hyphens_do_not_matter() -> None:
    assert [meant(name, "get_weather") for name in ("functions.get_weather", "tools.GET-WEATHER", "get_weather:0")] == [
        "get_weather"
    ] * 3
    assert meant("functions.get_weather:12", "get_weather") == "get_weather"


def test_what_fits_two_tools_fits_none() -> None:
    assert meant("GET_WEATHER", "get_weather", "get-weather") is None


@pytest.mark.behaviour("formats.names")
def test_a_name_is_never_guessed() -> None:
    assert meant("get_wether", "get_weather") is None
    assert meant("weather", "get_weather") is None
    assert meant("", "get_weather") is None
    assert meant("other.get_weather", "get_weather") is None


def test_of_two_tools_with_one_name_the_first_counts_and_a_change_is_told() -> None:
    found = ToolNameMatcher([ToolShape("a", "first"), ToolShape("a", "second")]).match("functions.a")
    assert (found.tool, found.repairs) == (ToolShape("a", "first"), ("the name 'functions.a' was read as 'a'",))
